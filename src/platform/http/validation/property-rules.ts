import { applyDecorators } from '@nestjs/common';
import { Transform, type TransformFnParams } from 'class-transformer';
import { ValidateBy, ValidateIf } from 'class-validator';
import { readsOnlyItsValue } from './dto-metadata.js';
import { INT64_MAX, INT64_MIN, isInt64 } from './int64.js';

const CANONICAL_DECIMAL = /^(?:0|-?[1-9]\d{0,14})$/;

/** Accepts a JSON number whose value is an integer in int64. The DTO holds it as a bigint. */
export function IsInt64(): PropertyDecorator {
  return applyDecorators(
    convert((value) => (Number.isSafeInteger(value) ? BigInt(value as number) : value)),
    rule('isInt64', isInt64, `an integer from ${INT64_MIN} to ${INT64_MAX}`),
  );
}

/** Accepts a canonical decimal integer in a query parameter. The DTO holds it as a number. */
export function IsIntegerParameter(min: number, max: number): PropertyDecorator {
  const isInRange = (value: unknown): boolean =>
    Number.isInteger(value) && (value as number) >= min && (value as number) <= max;
  return applyDecorators(
    convert((value) =>
      typeof value === 'string' && CANONICAL_DECIMAL.test(value) ? Number(value) : value,
    ),
    rule('isIntegerParameter', isInRange, `an integer from ${min} to ${max}`),
  );
}

/** Accepts one of the given strings. */
export function IsOneOf(values: readonly string[]): PropertyDecorator {
  const expected = `one of ${values.join(', ')}`;
  return rule('isOneOf', (value) => values.includes(value as string), expected);
}

/** White space as in Unicode or in ECMAScript. They differ in U+0085 and U+FEFF. */
const NOT_WHITE_SPACE = /[^\s\p{White_Space}]/u;

/**
 * Accepts text of min to max Unicode code points, at least one not white space. Rejects NUL, which
 * PostgreSQL does not store, and lone surrogates.
 */
export function IsText(min: number, max: number): PropertyDecorator {
  const isText = (value: unknown): boolean =>
    typeof value === 'string' &&
    NOT_WHITE_SPACE.test(value) &&
    !value.includes('\0') &&
    value.isWellFormed() &&
    hasLength(value, min, max);
  const expected = `a string of ${min} to ${max} characters, at least one of them not white space, without NUL or lone surrogates`;
  return rule('isText', isText, expected);
}

/** Accepts a missing property. Unlike class-validator's `IsOptional`, null is an invalid value. */
export function IsOptionalMember(): PropertyDecorator {
  return ValidateIf((_dto, value) => value !== undefined);
}

/** Returns whether text has min to max code points. */
function hasLength(text: string, min: number, max: number): boolean {
  // A code point is one or two UTF-16 units, so most texts need no counting.
  if (text.length < min || text.length > max * 2) return false;
  const { length } = text.length > max || text.length < min * 2 ? [...text] : text;
  return length >= min && length <= max;
}

/** Converts a value before its rule checks it. The conversion keeps a value that is invalid. */
function convert(conversion: (value: unknown) => unknown): PropertyDecorator {
  const transform = ({ value }: TransformFnParams): unknown => conversion(value);
  readsOnlyItsValue.add(transform);
  return Transform(transform, { toClassOnly: true });
}

function rule(
  name: string,
  validate: (value: unknown) => boolean,
  expected: string,
): PropertyDecorator {
  const defaultMessage = (): string => `$property must be ${expected}`;
  return ValidateBy({ name, validator: { validate, defaultMessage } });
}
