import type { Type } from '@nestjs/common';
import { ServiceError } from '../../errors/service-error.js';
import {
  isNestedRule,
  mayReadOtherMembers,
  rulesOf,
  type TypeMetadata,
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
   * Returns a copy of an object without the members that its class has no rule for. A value that is
   * not a DTO and has too many members is empty in the copy, so that its rules can still reject it.
   * Call `checkSize` after the validation.
   *
   * @throws ServiceError invalid_request if the DTOs have too many properties
   */
  of(value: JsonObject, dto: Type): JsonObject {
    const { properties, nested, readsOthers } = membersOf(dto);
    const names = readsOthers ? Object.keys(value) : properties;
    // A missing property is validated as well.
    this.count(Math.max(names.length, properties.length));
    const known: JsonObject = {};
    for (const name of names) {
      if (!Object.hasOwn(value, name) || name === '__proto__') continue;
      const type = nested.get(name);
      known[name] = type ? this.ofNested(value[name], type, value) : this.boundedValue(value[name]);
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

  private count(values: number): void {
    this.values += values;
    this.checkSize();
  }

  private ofNested(
    value: unknown,
    type: TypeMetadata,
    parent: JsonObject,
    isItem = false,
  ): unknown {
    // class-transformer fails for null where it looks for a discriminator. False is as invalid.
    const copyItem = (item: unknown) => this.ofNested(item ?? false, type, parent, true);
    const isMap = type.reflectedType === Map && !isItem;
    if (isMap && typeof value === 'object') this.count(Object.keys(value ?? {}).length);
    if (Array.isArray(value)) return value.map(copyItem);
    if (!isObject(value)) return value;
    if (isMap) {
      this.stripKeys(value);
      const entries = Object.entries(value).map(([name, item]) => [name, copyItem(item)]);
      return Object.fromEntries(entries);
    }
    const { property, subTypes } = type.options.discriminator ?? { property: '', subTypes: [] };
    const subType = subTypes.find(({ name }) => name === value[property]);
    const options = { newObject: {}, object: parent, property: type.propertyName };
    const known = this.of(value, (subType?.value ?? type.typeFunction(options)) as Type);
    // class-transformer chooses the class by it.
    return subType ? { ...known, [property]: subType.name } : known;
  }

  private boundedValue(value: unknown): unknown {
    if (typeof value !== 'object' || value === null) return value;
    const size = sizeOf(value, MAX_VALUES);
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
  const nested = new Map<string, TypeMetadata>();
  for (const { propertyName: property } of rulesOf(dto).filter(isNestedRule)) {
    const metadata = typeMetadataOf(dto, property);
    if (metadata?.typeFunction) nested.set(property, metadata);
  }
  return { properties: validatedProperties(dto), nested, readsOthers: mayReadOtherMembers(dto) };
}
