import type { Type } from '@nestjs/common';
import { defaultMetadataStorage } from 'class-transformer/cjs/storage.js';
import { ServiceError } from '../../errors/service-error.js';
import { isDto, propertiesOf } from './dto-rules.js';

// class-transformer and class-validator take up to 5 µs for each nested value, and class-transformer
// takes a time that is quadratic in the number of members.
const MAX_NESTED_VALUES = 1_000;

type JsonObject = Record<string, unknown>;

type Exposed = ReturnType<typeof defaultMetadataStorage.findExposeMetadata> | undefined;

/** The names of the members that set a property of a class. */
const membersByClass = new WeakMap<object, readonly string[]>();

/** Returns whether a value is an object and not an array. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Returns the members of a body, a query or a path that its class has a rule for: the pipe would copy
 * the others first. Over the limit, nested values are empty, so that their rules can still reject them.
 *
 * @returns `isTooLarge`: whether to reject the values if their rules accept them
 * @throws ServiceError invalid_request if a nested DTO is over the limit
 */
export function boundedValues(value: JsonObject, dto: Type) {
  const members: JsonObject = {};
  for (const name of membersOf(dto)) {
    if (Object.hasOwn(value, name)) members[name] = value[name];
  }
  const isTooLarge = nestedValues(members) > MAX_NESTED_VALUES;
  for (const [name, member] of isTooLarge ? Object.entries(members) : []) {
    if (!(member instanceof Object)) continue;
    const nested = defaultMetadataStorage.findTypeMetadata(dto, name) as object | undefined;
    // Its rules would reject an empty one for another reason.
    if (nested) throw tooManyValues();
    members[name] = Array.isArray(member) ? [] : {};
  }
  return { members, isTooLarge };
}

export function tooManyValues(): ServiceError {
  const max = MAX_NESTED_VALUES.toLocaleString('en-US');
  const message = `The request has more than ${max} values in its nested objects and arrays.`;
  return new ServiceError('invalid_request', message);
}

function membersOf(dto: Type): readonly string[] {
  let members = membersByClass.get(dto);
  if (!members) {
    members = propertiesOf(dto).map((property) => {
      const exposed = defaultMetadataStorage.findExposeMetadata(dto, property) as Exposed;
      return exposed?.options.name ?? property;
    });
    membersByClass.set(dto, members);
  }
  return members;
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

const RANGE = `from ${Number.MIN_SAFE_INTEGER} to ${Number.MAX_SAFE_INTEGER}`;

/**
 * Rejects integers that a double cannot hold in the objects and arrays of a DTO that no DTO class
 * describes. They would be bigints, which JSON.stringify rejects.
 *
 * @throws ServiceError invalid_request that names the first one
 */
export function rejectLargeIntegers(value: unknown, path = ''): void {
  if (typeof value !== 'object' || value === null) return;
  const hasRules = isDto(value.constructor);
  if (!hasRules && !Array.isArray(value) && value.constructor !== Object) return;
  for (const [name, member] of Object.entries(value)) {
    const place = path ? `${path}.${name}` : name;
    if (typeof member === 'bigint' && !hasRules && !Number.isSafeInteger(Number(member))) {
      throw new ServiceError('invalid_request', `${place} must be an integer ${RANGE}.`);
    }
    rejectLargeIntegers(member, place);
  }
}
