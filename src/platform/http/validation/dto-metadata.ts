import type { Type } from '@nestjs/common';
import { TransformationType } from 'class-transformer';
import { defaultMetadataStorage } from 'class-transformer/cjs/storage.js';
import { getMetadataStorage, IsObject, ValidationTypes } from 'class-validator';

/** One rule of a property, as class-validator stores it. */
export type Rule = ReturnType<
  ReturnType<typeof getMetadataStorage>['getTargetValidationMetadatas']
>[number];

const storage = getMetadataStorage();
const collectRules = storage.getTargetValidationMetadatas.bind(storage);
const groupRules = storage.groupByPropertyName.bind(storage);
const rulesByClass = new WeakMap<object, Rule[]>();
const groupsByRules = new WeakMap<Rule[], ReturnType<typeof groupRules>>();

/**
 * Lets class-validator reuse the rules of a class. It would collect and group them again for each
 * object, in a time that grows with the number of all DTO classes (docs/performance.md).
 * It relies on two public methods of class-validator's storage, through which the validator reads
 * the rules. If a release reads them in another way, the tests of the order of rules fail: sort the
 * rules in the storage then.
 */
storage.getTargetValidationMetadatas = (dto, schema, always, strictGroups, groups) => {
  if (always || strictGroups || (groups && groups.length > 0)) {
    return collectRules(dto, schema, always, strictGroups, groups);
  }
  let rules = rulesByClass.get(dto);
  if (!rules) rulesByClass.set(dto, (rules = sortedRules(dto as Type)));
  return rules;
};
storage.groupByPropertyName = (rules) => {
  let groups = groupsByRules.get(rules);
  if (!groups) groupsByRules.set(rules, (groups = groupRules(rules)));
  return groups;
};

/** Returns the rules of a DTO class and its base classes, in the order of their evaluation. */
export function rulesOf(dto: Type): Rule[] {
  return storage.getTargetValidationMetadatas(dto, '', false, false);
}

/** Returns the properties of a DTO class that have a rule: first those of its base class. */
export function validatedProperties(dto: Type): string[] {
  return [...new Set(rulesOf(dto).map(({ propertyName }) => propertyName))];
}

/** Returns whether a rule is `@ValidateNested()`. */
export function isNestedRule({ type }: Rule): boolean {
  return type === ValidationTypes.NESTED_VALIDATION;
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
 * Returns the rules of a class: those of the base class first, and of each property the most basic
 * first and those of items last. class-validator stops at the first one that fails.
 */
function sortedRules(dto: Type): Rule[] {
  const base = Object.getPrototypeOf(dto) as Type | null;
  const inherited = base?.prototype ? rulesOf(base) : [];
  requireNestedObjects(dto);
  const rules = collectRules(dto, '', false, false);
  const properties = [...inherited, ...rules].map(({ propertyName }) => propertyName);
  const positionOf = ({ propertyName }: Rule): number => properties.indexOf(propertyName);
  return rules.toSorted((a, b) => positionOf(a) - positionOf(b) || rankOf(a) - rankOf(b));
}

/**
 * Adds a rule to each nested DTO that a class declares: the value is an object, or a list of objects.
 * Without it, `@ValidateNested()` accepts a missing value, and arrays at any depth.
 */
function requireNestedObjects(dto: Type): void {
  const prototype = dto.prototype as object;
  for (const rule of collectRules(dto, '', false, false).filter(isNestedRule)) {
    const { target, propertyName, each } = rule;
    const declared = Reflect.getMetadata('design:type', prototype, propertyName) as unknown;
    if (target !== dto || declared === Map || declared === Set) continue;
    IsObject({ each: each || declared === Array })(prototype, propertyName);
  }
}

/** What `@Type()` declares for a property. */
export type TypeMetadata = ReturnType<typeof defaultMetadataStorage.findTypeMetadata>;

/** Returns what `@Type()` declares for a property, or undefined if it has no such decorator. */
export function typeMetadataOf(dto: Type, property: string): TypeMetadata | undefined {
  return defaultMetadataStorage.findTypeMetadata(dto, property);
}

/** Returns the classes that `@Type()` names for a property. */
export function nestedClasses(dto: Type, property: string): Type[] {
  const metadata = typeMetadataOf(dto, property);
  if (!metadata?.typeFunction) return [];
  const type = metadata.typeFunction({ newObject: {}, object: {}, property }) as Type;
  const subTypes = metadata.options.discriminator?.subTypes.map(({ value }) => value as Type);
  return subTypes ?? [type];
}

/** The functions of `@Transform()` that read only the value of their own property. */
export const readsOnlyItsValue = new WeakSet<object>();

/** Returns whether `@Expose()` or `@Transform()` of a class may read members without a rule. */
export function mayReadOtherMembers(dto: Type): boolean {
  const transforms = validatedProperties(dto).flatMap((property) =>
    defaultMetadataStorage.findTransformMetadatas(dto, property, TransformationType.PLAIN_TO_CLASS),
  );
  return (
    defaultMetadataStorage.getExposedMetadatas(dto).length > 0 ||
    transforms.some(({ transformFn }) => !readsOnlyItsValue.has(transformFn))
  );
}
