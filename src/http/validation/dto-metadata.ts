import type { Type } from '@nestjs/common';
import { type TransformFnParams, TransformationType } from 'class-transformer';
import { defaultMetadataStorage } from 'class-transformer/cjs/storage.js';
import { getMetadataStorage, ValidationTypes } from 'class-validator';

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

/** Returns what `@Type()` declares for a property, or undefined if it has no such decorator. */
export function typeMetadataOf(dto: Type, property: string) {
  return defaultMetadataStorage.findTypeMetadata(dto, property) as
    ReturnType<typeof defaultMetadataStorage.findTypeMetadata> | undefined;
}

type TransformFunction = (params: TransformFnParams) => unknown;

const valueTransforms = new WeakSet<TransformFunction>();

/** Marks a function for `@Transform()` that reads only the value of its own property. */
export function valueTransform(transform: (value: unknown) => unknown): TransformFunction {
  const transformFunction: TransformFunction = ({ value }) => transform(value);
  valueTransforms.add(transformFunction);
  return transformFunction;
}

/** Returns whether `@Expose()` or `@Transform()` of a class may read members without a rule. */
export function mayReadOtherMembers(dto: Type, properties: readonly string[]): boolean {
  const transforms = properties.flatMap((property) =>
    defaultMetadataStorage.findTransformMetadatas(dto, property, TransformationType.PLAIN_TO_CLASS),
  );
  return (
    defaultMetadataStorage.getExposedMetadatas(dto).length > 0 ||
    transforms.some(({ transformFn }) => !valueTransforms.has(transformFn))
  );
}
