import type { Type } from '@nestjs/common';
import { type TransformFnParams, TransformationType } from 'class-transformer';
import { defaultMetadataStorage } from 'class-transformer/cjs/storage.js';
import { getMetadataStorage, IsObject, ValidationTypes } from 'class-validator';

/** One rule of a property, as class-validator stores it. */
export type Rule = ReturnType<
  ReturnType<typeof getMetadataStorage>['getTargetValidationMetadatas']
>[number];

/** Returns the rules of a DTO class and its base classes. */
export function rulesOf(dto: Type): Rule[] {
  return getMetadataStorage().getTargetValidationMetadatas(dto, '', false, false);
}

/** Returns the properties of a DTO class that have a rule: first those of its base class. */
export function validatedProperties(dto: Type): string[] {
  const base = Object.getPrototypeOf(dto) as Type | null;
  const inherited = base?.prototype ? validatedProperties(base) : [];
  return [...new Set([...inherited, ...rulesOf(dto).map(({ propertyName }) => propertyName)])];
}

/** Returns whether a rule is `@ValidateNested()`. */
export function isNestedRule({ type }: Rule): boolean {
  return type === ValidationTypes.NESTED_VALIDATION;
}

/**
 * Adds a rule to each nested DTO of a class: the value is an object, or a list of objects. Without
 * it, `@ValidateNested()` accepts a missing value, and arrays at any depth.
 */
export function requireNestedObjects(dto: Type): void {
  const prototype = dto.prototype as object;
  for (const { propertyName, each } of rulesOf(dto).filter(isNestedRule)) {
    const declared = Reflect.getMetadata('design:type', prototype, propertyName) as unknown;
    if (declared === Map || declared === Set) continue;
    IsObject({ each: each || declared === Array })(prototype, propertyName);
  }
}

/** Returns what `@Type()` declares for a property, or undefined if it has no such decorator. */
export function typeMetadataOf(dto: Type, property: string) {
  return defaultMetadataStorage.findTypeMetadata(dto, property) as
    ReturnType<typeof defaultMetadataStorage.findTypeMetadata> | undefined;
}

type TransformFunction = (params: TransformFnParams) => unknown;

/** Returns the value that a property gets in its DTO. */
export type Conversion = (value: unknown) => unknown;

const conversionOf = new WeakMap<TransformFunction, Conversion>();

/** Returns a function for `@Transform()` that reads only the value of its own property. */
export function valueTransform(conversion: Conversion): TransformFunction {
  const transformFunction: TransformFunction = ({ value }) => conversion(value);
  conversionOf.set(transformFunction, conversion);
  return transformFunction;
}

/**
 * Returns the conversion of each property that has one, or null if the class has decorators of
 * class-transformer itself, accessors, or more than one conversion for a property.
 */
export function simpleConversions(
  dto: Type,
  properties: readonly string[],
): Map<string, Conversion> | null {
  const conversions = new Map<string, Conversion>();
  const { strategy, exposed, excluded } = classDecoratorsOf(dto);
  if (strategy !== 'none' || exposed || excluded) return null;
  for (const property of properties) {
    if (property in (dto.prototype as object) || typeMetadataOf(dto, property)) return null;
    const [transform, ...others] = transformsOf(dto, property);
    if (!transform) continue;
    const conversion = conversionOf.get(transform.transformFn);
    if (!conversion || others.length > 0) return null;
    conversions.set(property, conversion);
  }
  return conversions;
}

function transformsOf(dto: Type, property: string) {
  return defaultMetadataStorage.findTransformMetadatas(
    dto,
    property,
    TransformationType.PLAIN_TO_CLASS,
  );
}

/** Returns what `@Expose()` and `@Exclude()` declare for a class and its properties. */
function classDecoratorsOf(dto: Type) {
  return {
    strategy: defaultMetadataStorage.getStrategy(dto),
    exposed: defaultMetadataStorage.getExposedMetadatas(dto).length > 0,
    excluded: defaultMetadataStorage.getExcludedMetadatas(dto).length > 0,
  };
}

/** Returns whether `@Expose()` or `@Transform()` of a class may read members without a rule. */
export function mayReadOtherMembers(dto: Type, properties: readonly string[]): boolean {
  const transforms = properties.flatMap((property) => transformsOf(dto, property));
  return (
    defaultMetadataStorage.getExposedMetadatas(dto).length > 0 ||
    transforms.some(({ transformFn }) => !conversionOf.has(transformFn))
  );
}
