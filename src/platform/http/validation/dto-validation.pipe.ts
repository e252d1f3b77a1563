import { type ArgumentMetadata, Injectable, type Type, ValidationPipe } from '@nestjs/common';
import { type ValidationError, type ValidatorOptions, ValidationTypes } from 'class-validator';
import { type InvalidProperty, invalidRequest, ServiceError } from '../../errors/service-error.js';
import { currentRequest } from '../request/request-context.middleware.js';
import { isDto, membersOf, namesOf, propertiesOf, rulesOf } from './dto-rules.js';
import type { RuleContext } from './property-rules.js';
import { validDto } from './valid-dto.js';

type JsonObject = Record<string, unknown>;

/**
 * class-transformer and class-validator take up to 5 µs for each nested value, and class-transformer
 * takes a time that is quadratic in the number of members. `@BodyLimit()` sets another limit.
 */
const MAX_NESTED_VALUES = 1_000;

/** The integers that a double holds exactly. */
const SAFE_RANGE = `from ${Number.MIN_SAFE_INTEGER} to ${Number.MAX_SAFE_INTEGER}`;

/** An array can have hundreds of invalid items. */
const MAX_PROPERTIES = 50;

/** NestJS' pipe with bounded work, and one message that lists every invalid property. */
@Injectable()
export class DtoValidationPipe extends ValidationPipe {
  constructor() {
    super({
      transform: true,
      whitelist: true,
      // The messages depend on the class, and on whether a value was sent.
      validationError: { value: true, target: true },
      exceptionFactory: rejection,
    });
  }

  /** @throws ServiceError invalid_request that lists the first 50 invalid properties */
  override async transform(value: unknown, metadata: ArgumentMetadata): Promise<unknown> {
    const { type, metatype, data } = metadata;
    if (!metatype || !this.toValidate(metadata)) return super.transform(value, metadata);
    if (value === undefined) {
      return super.transform(value, metadata).catch((error: unknown) => {
        if (type !== 'body' || !(error instanceof ServiceError)) throw error;
        const { message, invalidProperties } = error;
        const text = `The request body is empty. ${message}`;
        throw new ServiceError('invalid_request', text, { invalidProperties });
      });
    }
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      const subject = data ?? `The request ${type}`;
      throw new ServiceError('invalid_request', `${subject} must be a JSON object.`);
    }
    const valid = validDto(value, metatype);
    if (valid) return valid;
    const { members, isTooLarge } = boundedValues(value as JsonObject, metatype);
    const dto: unknown = await super.transform(members, metadata);
    if (isTooLarge) throw tooManyValues();
    return dto;
  }

  /** class-validator removes unknown properties, so this looks at their names first. */
  protected override async validate(dto: object, options?: ValidatorOptions) {
    const others = errorsWithoutRule(dto);
    return [...(await super.validate(dto, options)), ...others];
  }

  /** Overrides ValidationPipe.toValidate: a class without rules, such as BigInt, is no DTO. */
  protected override toValidate(metadata: ArgumentMetadata): boolean {
    return super.toValidate(metadata) && isDto(metadata.metatype);
  }
}

const PIPE = new DtoValidationPipe();

/** Returns a DTO with values of a file or an operator. @throws ServiceError as for a body */
export function toDto<Dto extends object>(dto: Type<Dto>, values: unknown): Promise<Dto> {
  return PIPE.transform(values, { type: 'body', metatype: dto, data: 'It' }) as Promise<Dto>;
}

/**
 * Returns the values of a DTO in the order in which its classes declare their rules, the base class
 * first. A missing one is undefined.
 */
export function valuesOf(dto: object): unknown[] {
  return propertiesOf(dto.constructor).map((name) => (dto as JsonObject)[name]);
}

/** Returns the 400 that lists the first 50 invalid properties and the values that they accept. */
function rejection(errors: readonly ValidationError[]): ServiceError {
  const invalid = inOrder(errors).flatMap((error) => invalidProperties(error, ''));
  return invalidRequest(invalid.slice(0, MAX_PROPERTIES), invalid.length - MAX_PROPERTIES);
}

function invalidProperties(error: ValidationError, parentPath: string): InvalidProperty[] {
  const { property, constraints, children = [] } = error;
  const path = parentPath + property;
  // Decorators apply from the last to the first, so that this is the rule of the first decorator.
  const [rule, text] = Object.entries(constraints ?? {}).at(-1) ?? [];
  if (rule === undefined || text === undefined) {
    const nested = inOrder(children).flatMap((child) => invalidProperties(child, `${path}.`));
    if (nested.length > 0) return nested;
    return [{ property: path, rule: 'isValid', message: `${path} is invalid` }];
  }
  const { expected, inJson } = (error.contexts?.[rule] ?? {}) as Partial<RuleContext>;
  const isMissing = error.value === undefined;
  let message = path === property ? text : `${path}: ${text}`;
  if (isMissing) message = `${path} is required: ${text}`;
  if (expected !== undefined) {
    // A query parameter can be given several times.
    const several = Array.isArray(error.value) ? ', not several values' : '';
    message = `${path} ${isMissing ? 'is required and ' : ''}must be ${expected}${inJson}${several}`;
  }
  return [{ property: path, rule, message, expected }];
}

/** Orders the errors of an object by its properties: class-validator lists inherited ones last. */
function inOrder(errors: readonly ValidationError[]): readonly ValidationError[] {
  const order = propertiesOf(errors[0]?.target?.constructor ?? Object);
  // A misnamed property is none of them, and comes last.
  const place = ({ property }: ValidationError) => order.indexOf(property) >>> 0;
  return errors.toSorted((a, b) => place(a) - place(b));
}

/**
 * Returns the members of a body, a query or a path that its class has a rule for, and one for each of
 * these whose name differs only in case: the pipe would copy the others first. Over the limit, nested
 * values are empty, so that their rules can still reject them.
 *
 * @returns `isTooLarge`: whether to reject the values if their rules accept them
 * @throws ServiceError invalid_request if a nested DTO is over the limit
 */
function boundedValues(value: JsonObject, dto: Type) {
  const members: JsonObject = {};
  for (const name of membersOf(dto)) {
    if (Object.hasOwn(value, name)) members[name] = value[name];
  }
  const names = Object.keys(value);
  if (names.length > Object.keys(members).length) {
    const misnamed = new Map(names.map((name) => [correctName(dto, name), name]));
    for (const member of membersOf(dto)) {
      const name = misnamed.get(member);
      if (name !== undefined) members[name] = true;
    }
  }
  const isTooLarge =
    nestedValues(members) > MAX_NESTED_VALUES &&
    currentRequest()?.state.bodyWithinOwnLimit !== value;
  for (const [name, member] of isTooLarge ? Object.entries(members) : []) {
    if (!(member instanceof Object)) continue;
    // Its rules would reject an empty one for another reason.
    const isNestedDto = rulesOf(dto).some(
      (rule) => rule.type === ValidationTypes.NESTED_VALIDATION && rule.propertyName === name,
    );
    if (isNestedDto) throw tooManyValues();
    members[name] = Array.isArray(member) ? [] : {};
  }
  return { members, isTooLarge };
}

function tooManyValues(): ServiceError {
  const max = MAX_NESTED_VALUES.toLocaleString('en-US');
  const message = `The request has more than ${max} values in its nested objects and arrays.`;
  return new ServiceError('invalid_request', message);
}

/** Counts the values in the objects and arrays of a value, at most a little beyond the limit. */
function nestedValues(value: unknown): number {
  let count = 0;
  for (const member of Object.values(value as object) as unknown[]) {
    if (typeof member !== 'object' || member === null) continue;
    count += Object.keys(member).length + nestedValues(member);
    if (count > MAX_NESTED_VALUES) break;
  }
  return count;
}

/**
 * Returns an error for each property of a DTO, or of those nested in it, whose name differs from that of
 * a known one only in case, and for each integer that a double cannot hold in the objects and arrays
 * that no DTO class describes. It would be a bigint, which JSON.stringify rejects.
 */
function errorsWithoutRule(value: object, path = ''): ValidationError[] {
  const dto = isDto(value.constructor) ? value.constructor : undefined;
  if (!dto && !Array.isArray(value) && value.constructor !== Object) return [];
  return Object.entries(value).flatMap(([name, member]: [string, unknown]) => {
    const property = path + name;
    const error = (rule: string, message: string): ValidationError[] => [
      { property, constraints: { [rule]: message }, value: true },
    ];
    const correct = dto && correctName(dto, name);
    if (correct) return error('name', `${property} must be written as ${correct}`);
    if (dto && !namesOf(dto).has(name)) return [];
    if (member instanceof Object) return errorsWithoutRule(member, `${property}.`);
    const isLarge = !dto && typeof member === 'bigint' && !Number.isSafeInteger(Number(member));
    return isLarge ? error('isSafeInteger', `${property} must be an integer ${SAFE_RANGE}`) : [];
  });
}

/**
 * Returns the name of the member that an unknown name differs from only in case, or by the `[]` that some
 * clients append to the name of an array, if there is one.
 */
function correctName(dto: object, name: string): string | undefined {
  const names = namesOf(dto);
  const correct = names.get(name) ?? names.get(name.toLowerCase().replace(/\[\]$/, ''));
  return correct === name ? undefined : correct;
}
