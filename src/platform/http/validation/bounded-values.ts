import type { Type } from '@nestjs/common';
import { defaultMetadataStorage } from 'class-transformer/cjs/storage.js';
import { ServiceError } from '../../errors/service-error.js';
import { isDto, isNested, propertiesOf } from './dto-rules.js';

// class-transformer and class-validator take up to 5 µs for each nested value, and class-transformer
// takes a time that is quadratic in the number of members.
const MAX_NESTED_VALUES = 1_000;

type JsonObject = Record<string, unknown>;

type Exposed = ReturnType<typeof defaultMetadataStorage.findExposeMetadata> | undefined;

interface BoundedValues {
  members: JsonObject;
  /** Whether to reject the values if their rules accept them. */
  isTooLarge: boolean;
}

/** The names of the members that set a property of a class, and whether it is a nested DTO. */
const membersByClass = new WeakMap<object, ReadonlyMap<string, boolean>>();

/** Returns whether a value is an object and not an array. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Bounds the work that a body, a query or a path causes. Removes the members that its class has no
 * rule for, because the pipe would copy them first. Empties nested values beyond the limit, so that
 * their rules can still reject them.
 *
 * @throws ServiceError invalid_request if nested DTOs have too many values
 */
export function boundedValues(value: JsonObject, dto: Type): BoundedValues {
  const rules = membersOf(dto);
  const members: JsonObject = {};
  let count = 0;
  for (const [name, isNestedDto] of rules) {
    if (!Object.hasOwn(value, name)) continue;
    const member = (members[name] = value[name]);
    // An item that is no object has an error of its own.
    const items = isNestedDto && Array.isArray(member) ? member.length : 0;
    count += Math.max(items, nestedValues(member));
  }
  const isTooLarge = count > MAX_NESTED_VALUES;
  if (isTooLarge && [...rules.values()].includes(true)) throw tooManyValues();
  for (const [name, member] of isTooLarge ? Object.entries(members) : []) {
    if (member instanceof Object) members[name] = Array.isArray(member) ? [] : {};
  }
  return { members, isTooLarge };
}

export function tooManyValues(): ServiceError {
  const max = MAX_NESTED_VALUES.toLocaleString('en-US');
  const message = `The request has more than ${max} values in its nested objects.`;
  return new ServiceError('invalid_request', message);
}

function membersOf(dto: Type): ReadonlyMap<string, boolean> {
  let members = membersByClass.get(dto);
  if (!members) {
    const memberOf = (property: string): [string, boolean] => {
      const exposed = defaultMetadataStorage.findExposeMetadata(dto, property) as Exposed;
      return [exposed?.options.name ?? property, isNested(dto, property)];
    };
    membersByClass.set(dto, (members = new Map(propertiesOf(dto).map(memberOf))));
  }
  return members;
}

/** Counts the members of objects, and the items of arrays that are objects or arrays. */
function nestedValues(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const isArray = Array.isArray(value);
  const members = Object.values(value) as unknown[];
  let count = isArray ? 0 : members.length;
  for (const member of members) {
    if (count > MAX_NESTED_VALUES) break;
    if (typeof member === 'object' && member !== null) count += 1 + nestedValues(member);
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
