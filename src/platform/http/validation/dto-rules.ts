import type { Type } from '@nestjs/common';
import { TransformationType } from 'class-transformer';
import { defaultMetadataStorage as transformer } from 'class-transformer/cjs/storage.js';
import { getMetadataStorage, IS_OPTIONAL, IsObject, ValidationTypes } from 'class-validator';
import { CONVERSIONS } from './property-rules.js';

const validator = getMetadataStorage();
const collectRules = validator.getTargetValidationMetadatas.bind(validator);
const groupRules = validator.groupByPropertyName.bind(validator);

/** One rule of a property, as class-validator stores it. */
export type Rule = ReturnType<typeof collectRules>[number];

type Exposed = ReturnType<typeof transformer.findExposeMetadata>;
type NestedType = Partial<ReturnType<typeof transformer.findTypeMetadata>>;

/** A member of the JSON object that has a rule. */
type Member = readonly [name: string, nested: Type | undefined];

interface DtoRules {
  all: Rule[];
  /** In the order of their evaluation. */
  byProperty: Record<string, Rule[]>;
  members: readonly Member[];
  /** Whether a `@Transform()` may read members without a rule. */
  readsOtherMembers: boolean;
}

const rulesByClass = new WeakMap<object, DtoRules>();
const groupsByRules = new WeakMap<Rule[], DtoRules['byProperty']>();

// class-validator would collect and group the rules of a class again for each object, in a time that
// grows with the number of all DTO classes (docs/performance.md). Its validator reads them through
// these two methods of its storage. If a release does not, the tests of the order of rules fail.
validator.getTargetValidationMetadatas = (dto, schema, always, strictGroups, groups) => {
  const hasGroups = always || strictGroups || (groups && groups.length > 0);
  const rules = hasGroups ? undefined : rulesByClass.get(dto);
  return rules?.all ?? collectRules(dto, schema, always, strictGroups, groups);
};
validator.groupByPropertyName = (rules) => groupsByRules.get(rules) ?? groupRules(rules);

/**
 * Returns the rules of a DTO class and its base classes, in the order of their evaluation. The start
 * reads them for the DTOs of all routes.
 */
export function rulesOf(dto: Type): DtoRules {
  let rules = rulesByClass.get(dto);
  if (!rules) {
    rulesByClass.set(dto, (rules = readRules(dto)));
    groupsByRules.set(rules.all, rules.byProperty);
  }
  return rules;
}

function readRules(dto: Type): DtoRules {
  const base = Object.getPrototypeOf(dto) as Type | null;
  const inherited = base?.prototype ? rulesOf(base).byProperty : {};
  requireNestedObjects(dto);
  rejectNullInPartialTypes();
  const all = collectRules(dto, '', false, false);
  // Properties of the base class come first, as in the class.
  const byProperty = { ...inherited, ...groupRules(all) };
  for (const rules of Object.values(byProperty)) rules.sort((a, b) => rankOf(a) - rankOf(b));
  const members = Object.entries(byProperty).map(([property, rules]): Member => {
    const exposed = transformer.findExposeMetadata(dto, property) as Exposed | undefined;
    return [
      exposed?.options.name ?? property,
      rules.some(isNestedRule) ? (nestedClass(dto, property) as Type) : undefined,
    ];
  });
  const transforms = Object.keys(byProperty).flatMap((property) =>
    transformer.findTransformMetadatas(dto, property, TransformationType.PLAIN_TO_CLASS),
  );
  const readsOtherMembers = transforms.some(({ transformFn }) => !CONVERSIONS.has(transformFn));
  return { all, byProperty, members, readsOtherMembers };
}

/**
 * Adds a rule to each nested DTO that a class declares: the value is an object, or a list of objects.
 * Without it, `@ValidateNested()` accepts a missing value, and arrays at any depth.
 */
function requireNestedObjects(dto: Type): void {
  const prototype = dto.prototype as object;
  for (const rule of collectRules(dto, '', false, false).filter(isNestedRule)) {
    const { target, propertyName, each } = rule;
    if (target !== dto) continue;
    const declared: unknown = Reflect.getMetadata('design:type', prototype, propertyName);
    IsObject({ each: each || declared === Array })(prototype, propertyName);
  }
}

/** The source of a class that PartialType() of @nestjs/mapped-types or @nestjs/swagger returns. */
const PARTIAL_TYPE = /^class Partial(?:ClassType|TypeClass)\b/;

const isSent = (_dto: object, value: unknown): boolean => value !== undefined;

/**
 * Makes PartialType() reject null where its base class does. It adds `@IsOptional()`, which accepts
 * null, to copies of the base class' rules. Copies for other mapped types share the constraints.
 */
function rejectNullInPartialTypes(): void {
  const { validationMetadatas } = validator as unknown as {
    validationMetadatas: ReadonlyMap<unknown, readonly Rule[]>;
  };
  for (const [type, rules] of validationMetadatas) {
    if (!PARTIAL_TYPE.test(String(type))) continue;
    const optional = rules.filter(({ name }) => name === IS_OPTIONAL);
    const isCopy = (rule: Rule): boolean => rule.constructor === Object;
    const nullable = optional.filter((rule) => isCopy(rule) && rule.constraints[0] !== isSent);
    for (const rule of optional) {
      const isNullable = nullable.some(({ propertyName }) => propertyName === rule.propertyName);
      if (!isNullable) rule.constraints[0] = isSent;
    }
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

/** Returns whether a rule is `@ValidateNested()`. */
export function isNestedRule({ type }: Rule): boolean {
  return type === ValidationTypes.NESTED_VALIDATION;
}

/** A class whose properties the compiler plugin of @nestjs/swagger lists. */
export interface CompiledDto extends Type {
  _OPENAPI_METADATA_FACTORY?: () => object;
}

/** Returns whether a type is a class with a rule, or one that the swagger compiler plugin lists. */
export function isDto(type: unknown): type is CompiledDto {
  if (typeof type !== 'function') return false;
  return '_OPENAPI_METADATA_FACTORY' in type || rulesOf(type as Type).all.length > 0;
}

/** Returns what `@Type()` declares for a property. */
export function nestedTypeOf(dto: Type, property: string): NestedType | undefined {
  return transformer.findTypeMetadata(dto, property);
}

/** Returns the class that `@Type()` declares for a property. */
export function nestedClass(dto: Type, property: string): unknown {
  return nestedTypeOf(dto, property)?.typeFunction?.({ newObject: {}, object: {}, property });
}
