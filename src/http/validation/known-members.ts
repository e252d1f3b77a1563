import type { Type } from '@nestjs/common';
import { ServiceError } from '../../errors/service-error.js';
import {
  isNestedRule,
  mayReadOtherMembers,
  nestedClasses,
  rulesOf,
  typeMetadataOf,
  validatedProperties,
} from './dto-metadata.js';

/** class-transformer and class-validator take up to 5 µs for each. */
const MAX_VALUES = 1_000;

type JsonObject = Record<string, unknown>;

/**
 * Selects the members of a body, a query or a path for which its DTO classes have a rule. The others
 * would be removed in the end, but only after class-transformer has copied them, in a time that is
 * quadratic in their number.
 *
 * It counts the values that are left: the properties of DTOs, the members of other objects, and the
 * items of arrays that are objects or arrays.
 */
export class KnownMembers {
  private values = 0;

  /** @param stripKeys removes `__proto__`, `constructor` and `prototype` from a value, in place */
  constructor(private readonly stripKeys: (value: unknown) => void) {}

  /**
   * Returns a copy of an object, or of each object of an array, without the members that its class
   * has no rule for. A value that is not a DTO and has too many members is empty in the copy, so
   * that its rules can still reject it. Call `checkSize` after the validation.
   *
   * @throws ServiceError invalid_request if the DTOs have too many properties
   */
  of(value: unknown, dto: Type): unknown {
    if (Array.isArray(value)) return value.map((item) => this.of(item, dto));
    if (!isObject(value)) return value;
    const { properties, nested, weights, readsOthers } = membersOf(dto);
    const names = readsOthers ? Object.keys(value) : properties;
    // A missing property is validated as well.
    this.values += Math.max(names.length, properties.length);
    this.checkSize();
    const known: JsonObject = {};
    for (const name of names) {
      if (!Object.hasOwn(value, name) || name === '__proto__') continue;
      const member = value[name];
      const nestedType = nested.get(name);
      if (nestedType) known[name] = this.of(member, nestedType(value));
      else known[name] = this.boundedValue(member, weights.get(name));
    }
    return known;
  }

  /** @throws ServiceError invalid_request if the values are too many */
  checkSize(): void {
    if (this.values <= MAX_VALUES) return;
    const max = MAX_VALUES.toLocaleString('en-US');
    const message = `The request has more than ${max} values in its nested objects.`;
    throw new ServiceError('invalid_request', message);
  }

  /** @param weight for nested DTOs, the number of properties that are validated for each member */
  private boundedValue(value: unknown, weight?: number): unknown {
    if (typeof value !== 'object' || value === null) return value;
    let size = sizeOf(value, MAX_VALUES);
    // class-validator creates an error object for each item, also for a string.
    if (weight !== undefined) size = weight * Math.max(size, Object.keys(value).length);
    this.values += size;
    if (this.values > MAX_VALUES) return Array.isArray(value) ? [] : {};
    if (size > 0) this.stripKeys(value);
    return value;
  }
}

/** Returns the number of members and of items that are objects or arrays. It stops at a limit. */
function sizeOf(value: object, limit: number): number {
  const members: unknown[] = Object.values(value);
  let size = Array.isArray(value) ? 0 : members.length;
  for (const member of members) {
    if (size > limit) break;
    if (typeof member === 'object' && member !== null) size += 1 + sizeOf(member, limit - size);
  }
  return size;
}

/** Returns whether a value is an object and not an array. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const membersByClass = new WeakMap<Type, ReturnType<typeof readMembers>>();

function membersOf(dto: Type) {
  let members = membersByClass.get(dto);
  if (!members) membersByClass.set(dto, (members = readMembers(dto)));
  return members;
}

function readMembers(dto: Type) {
  const nested = new Map<string, (parent: JsonObject) => Type>();
  const weights = new Map<string, number>();
  for (const { propertyName: property } of rulesOf(dto).filter(isNestedRule)) {
    const metadata = typeMetadataOf(dto, property);
    if (!metadata?.typeFunction) continue;
    const { typeFunction, options } = metadata;
    // The members of a Map have any name. A discriminator chooses the class during the conversion.
    if (metadata.reflectedType === Map || options.discriminator) {
      const sizes = nestedClasses(dto, property).map((type) => validatedProperties(type).length);
      weights.set(property, Math.max(1, ...sizes));
    } else {
      const typeOf = (object: JsonObject) => typeFunction({ newObject: {}, object, property });
      nested.set(property, typeOf as (parent: JsonObject) => Type);
    }
  }
  const readsOthers = mayReadOtherMembers(dto);
  return { properties: validatedProperties(dto), nested, weights, readsOthers };
}
