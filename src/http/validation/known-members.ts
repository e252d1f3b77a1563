import type { Type } from '@nestjs/common';
import {
  type Conversion,
  isNestedRule,
  mayReadOtherMembers,
  rulesOf,
  simpleConversions,
  typeMetadataOf,
  validatedProperties,
} from './dto-metadata.js';

type JsonObject = Record<string, unknown>;

/** Returns the class of a nested DTO, which `@Type()` may choose by its object. */
type NestedType = (parent: JsonObject) => Type;

interface DtoMembers {
  names: readonly string[];
  nested: ReadonlyMap<string, NestedType>;
  keepsOthersReadable: boolean;
  /** The conversion of each member, or null if only class-transformer can create the DTO. */
  conversions: ReadonlyMap<string, Conversion> | null;
}

const membersOfDto = new WeakMap<Type, DtoMembers>();

/**
 * Returns a copy of an object, or of each object of an array, with only the members for which its
 * DTO class has a rule, also in nested DTOs. The ValidationPipe would remove the others in the end,
 * but only after class-transformer has copied them, in a time that is quadratic in their number.
 */
export function knownMembers(value: unknown, dto: Type): unknown {
  if (Array.isArray(value)) return value.map((item) => knownMembers(item, dto));
  if (!isObject(value)) return value;
  const { names, nested, keepsOthersReadable } = membersOf(dto);
  // `@Expose({ name })` and `@Transform(({ obj }) => …)` read the others through the prototype.
  const known = (keepsOthersReadable ? Object.create(value) : {}) as JsonObject;
  for (const name of names) {
    if (!Object.hasOwn(value, name)) continue;
    const nestedType = nested.get(name);
    known[name] = nestedType ? knownMembers(value[name], nestedType(value)) : value[name];
  }
  return known;
}

/**
 * Returns the DTO that class-transformer would create from an object, or null if the class or a
 * value is not simple: the class has only the decorators of this folder, and every value is a
 * primitive. It takes a third of the time (docs/performance.md).
 */
export function simpleDto(value: Readonly<JsonObject>, dto: Type): object | null {
  const { names, conversions } = membersOf(dto);
  if (!conversions) return null;
  const created = new dto() as JsonObject;
  for (const name of names) {
    if (!Object.hasOwn(value, name)) continue;
    const member = value[name];
    if (typeof member === 'object' && member !== null) return null;
    const convert = conversions.get(name);
    created[name] = convert ? convert(member) : member;
  }
  return created;
}

/** Returns whether a value is an object and not an array. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function membersOf(dto: Type): DtoMembers {
  let members = membersOfDto.get(dto);
  if (!members) {
    const names = validatedProperties(dto);
    const keepsOthersReadable = mayReadOtherMembers(dto, names);
    const conversions = simpleConversions(dto, names);
    members = { names, nested: nestedTypesOf(dto), keepsOthersReadable, conversions };
    membersOfDto.set(dto, members);
  }
  return members;
}

function nestedTypesOf(dto: Type): Map<string, NestedType> {
  const nestedTypes = new Map<string, NestedType>();
  for (const { propertyName: property } of rulesOf(dto).filter(isNestedRule)) {
    const metadata = typeMetadataOf(dto, property);
    // The members of a Map have any name. A discriminator chooses the class during the conversion.
    if (!metadata?.typeFunction || metadata.reflectedType === Map || metadata.options.discriminator)
      continue;
    const { typeFunction } = metadata;
    nestedTypes.set(
      property,
      (object) => typeFunction({ newObject: {}, object, property }) as Type,
    );
  }
  return nestedTypes;
}
