import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { Transform, type TransformFnParams } from 'class-transformer';
import { IsIn, ValidateBy, ValidateIf } from 'class-validator';
import { INT64_MAX, INT64_MIN, isInt64 } from './int64.pipe.js';

// Each rule also describes the property. `@ApiProperty()` adds the description and the example.

const CANONICAL_DECIMAL = /^(?:0|-?[1-9]\d{0,14})$/;

const toBigInt = ({ value }: TransformFnParams): unknown =>
  Number.isSafeInteger(value) ? BigInt(value as number) : value;

const toInteger = ({ value }: TransformFnParams): unknown =>
  typeof value === 'string' && CANONICAL_DECIMAL.test(value) ? Number(value) : value;

const INT64_RANGE = `an integer from ${INT64_MIN} to ${INT64_MAX}`;

/** Accepts a JSON number whose value is an integer in int64. The DTO holds it as a bigint. */
export function IsInt64(): PropertyDecorator {
  return applyDecorators(
    ApiProperty({ type: 'integer', format: 'int64' }),
    Transform(toBigInt, { toClassOnly: true }),
    rule('isInt64', isInt64, INT64_RANGE, ', as a JSON number and not as a string'),
  );
}

/** Accepts a canonical decimal integer in a query parameter. The DTO holds it as a number. */
export function IsIntegerParameter(minimum: number, maximum: number): PropertyDecorator {
  const isInRange = (value: unknown): boolean =>
    Number.isInteger(value) && (value as number) >= minimum && (value as number) <= maximum;
  return applyDecorators(
    ApiProperty({ type: 'integer', minimum, maximum }),
    Transform(toInteger, { toClassOnly: true }),
    rule('isIntegerParameter', isInRange, `an integer from ${minimum} to ${maximum}`),
  );
}

/** Accepts one of the given strings. */
export function IsOneOf(values: readonly string[]): PropertyDecorator {
  const expected = `one of ${values.join(', ')}`;
  const isOne = IsIn(values, optionsOf({ expected, inJson: '' }));
  return applyDecorators(ApiProperty({ enum: [...values] }), isOne);
}

/** White space as in Unicode or in ECMAScript. They differ in U+0085 and U+FEFF. */
const NOT_WHITE_SPACE = /[^\s\p{White_Space}]/u;
/** NUL, which PostgreSQL does not store, and the byte order mark, which files begin with and nobody sees. */
const NOT_ALLOWED = /[\0\ufeff]/;
/** The same in the syntax that most generators of clients support. */
const TEXT_PATTERN = String.raw`^[^\u0000\ufeff]*[^\s\u0000\u0085\ufeff][^\u0000\ufeff]*$`;

/**
 * Accepts text of min to max Unicode code points, at least one not white space. Rejects NUL, lone
 * surrogates, and byte order marks (U+FEFF).
 */
export function IsText(minLength: number, maxLength: number): PropertyDecorator {
  const isText = (value: unknown): boolean =>
    typeof value === 'string' &&
    NOT_WHITE_SPACE.test(value) &&
    !NOT_ALLOWED.test(value) &&
    value.isWellFormed() &&
    hasLength(value, minLength, maxLength);
  const expected = `a string of ${minLength} to ${maxLength} characters, at least one of them not white space, without NUL, lone surrogates or byte order marks`;
  return applyDecorators(
    ApiProperty({ type: 'string', minLength, maxLength, pattern: TEXT_PATTERN }),
    rule('isText', isText, expected),
  );
}

/** Accepts a missing property. Unlike class-validator's `IsOptional`, null is an invalid value. */
export function IsOptionalMember(): PropertyDecorator {
  const isPresent = ValidateIf((_dto, value) => value !== undefined);
  return applyDecorators(ApiProperty({ required: false }), isPresent);
}

/** Returns whether text has min to max code points, of one or two UTF-16 units each. */
function hasLength(text: string, min: number, max: number): boolean {
  return text.length <= max * 2 && [...text].length >= min && [...text].length <= max;
}

/** What a rule accepts, for its message. */
export interface RuleContext {
  readonly expected: string;
  /** Is added to the message of a request. A file has other notations. */
  readonly inJson: string;
}

function rule(
  name: string,
  validate: (value: unknown) => boolean,
  expected: string,
  inJson = '',
): PropertyDecorator {
  return ValidateBy({ name, validator: { validate } }, optionsOf({ expected, inJson }));
}

/** DtoValidationPipe makes the message from the context. */
function optionsOf(context: RuleContext) {
  return { message: `$property must be ${context.expected}`, context };
}
