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
  const rules = rulesOf(dto);
  for (const { target, propertyName, each } of rules.filter(isNestedRule)) {
    // The class that declares the property: rules of a subclass would replace those of this class.
    const { prototype } = target as { prototype: object };
    const declared = Reflect.getMetadata('design:type', prototype, propertyName) as unknown;
    if (declared === Map || declared === Set) continue;
    const isList = each || declared === Array;
    const hasRule = rules.some(
      (rule) =>
        rule.propertyName === propertyName && rule.name === 'isObject' && rule.each === isList,
    );
    if (!hasRule) IsObject({ each: isList })(prototype, propertyName);
  }
}

/** Names of rules, from the most basic kind to the others: the type of a value, then its size. */
const KINDS = [
  /^is(?:Array|Boolean|Date|Instance|Int|Int64|IntegerParameter|Number|Object|String|Text)$/,
  /^(?:array(?:M|Not)|is(?:Byte)?Length|isNotEmpty|max|min)/,
  /^/,
];

function rankOf({ name = '', each }: Rule): number {
  return KINDS.findIndex((kind) => kind.test(name)) + (each ? KINDS.length : 0);
}

/**
 * Sorts the rules of each property in all DTO classes: the most basic first, those of items last.
 * class-validator stops at the first one that fails. It stores them in the order of the decorators.
 */
export function sortRules(): void {
  const { validationMetadatas } = getMetadataStorage() as unknown as {
    validationMetadatas: ReadonlyMap<unknown, Rule[]>;
  };
  for (const rules of validationMetadatas.values()) {
    const properties = rules.map(({ propertyName }) => propertyName);
    const positionOf = ({ propertyName }: Rule): number => properties.indexOf(propertyName);
    rules.sort((a, b) => positionOf(a) - positionOf(b) || rankOf(a) - rankOf(b));
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
  const hasClassDecorator =
    defaultMetadataStorage.getStrategy(dto) !== 'none' ||
    defaultMetadataStorage.getExposedMetadatas(dto).length > 0 ||
    defaultMetadataStorage.getExcludedMetadatas(dto).length > 0;
  if (hasClassDecorator) return null;
  const conversions = new Map<string, Conversion>();
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

/** Returns whether `@Expose()` or `@Transform()` of a class may read members without a rule. */
export function mayReadOtherMembers(dto: Type, properties: readonly string[]): boolean {
  const transforms = properties.flatMap((property) => transformsOf(dto, property));
  return (
    defaultMetadataStorage.getExposedMetadatas(dto).length > 0 ||
    transforms.some(({ transformFn }) => !conversionOf.has(transformFn))
  );
}

function transformsOf(dto: Type, property: string) {
  const { PLAIN_TO_CLASS } = TransformationType;
  return defaultMetadataStorage.findTransformMetadatas(dto, property, PLAIN_TO_CLASS);
}
