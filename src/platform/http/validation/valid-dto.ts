import type { Type } from '@nestjs/common';
import { plainToInstance } from 'class-transformer';
import {
  getMetadataStorage,
  type ValidatorConstraintInterface,
  ValidationTypes,
} from 'class-validator';
import { cached, membersOf, propertiesOf, rulesOf } from './dto-rules.js';

/** The rules of one property of a class. */
interface PropertyRules {
  readonly name: string;
  /** The functions of `@ValidateIf()`, such as that of `@IsOptionalMember()`. The checks run if all return true. */
  readonly conditions: ((dto: object, value: unknown) => boolean)[];
  readonly checks: { validator: ValidatorConstraintInterface; constraints: unknown[] }[];
}

/**
 * Returns the DTO of values that are valid. Returns undefined if class-validator must look at them: they may be
 * invalid, or have nested or unknown members, or the class has a rule that is not a simple check.
 *
 * class-validator collects and groups the rules of the class again for every value. Here they are collected
 * once (docs/performance.md). It relies on the metadata that class-validator returns. Without this
 * function, the pipe gives the same results and takes longer.
 */
export function validDto(values: object, dto: Type): object | undefined {
  const properties = simpleRulesOf(dto);
  if (properties.length === 0 || !hasOnly(values, properties)) return undefined;
  const instance = plainToInstance(dto, values) as object;
  const isValid = hasOnly(instance, properties) && properties.every((it) => accepts(it, instance));
  return isValid ? instance : undefined;
}

/** The rules of each property, if all of them are conditions and synchronous checks. Otherwise no property. */
const simpleRulesOf = cached((dto): readonly PropertyRules[] => {
  // `@Expose({ name })` renames a member.
  const names = propertiesOf(dto);
  if (names.join() !== membersOf(dto).join()) return [];
  const properties = names.map((name): PropertyRules => ({ name, conditions: [], checks: [] }));
  for (const rule of rulesOf(dto)) {
    const property = properties.find(({ name }) => name === rule.propertyName);
    if (!property || rule.each || rule.validateIf) return [];
    if (rule.type === ValidationTypes.CONDITIONAL_VALIDATION) {
      property.conditions.push(rule.constraints[0] as PropertyRules['conditions'][number]);
    } else if (rule.type === ValidationTypes.CUSTOM_VALIDATION) {
      for (const check of getMetadataStorage().getTargetValidatorConstraints(rule.constraintCls)) {
        if (check.async) return [];
        property.checks.push({ validator: check.instance, constraints: rule.constraints });
      }
    } else if (rule.type !== ValidationTypes.WHITELIST) {
      return [];
    }
  }
  return properties;
});

/** Returns whether an object has no other members than these, and no nested values. */
function hasOnly(object: object, properties: readonly PropertyRules[]): boolean {
  return Object.entries(object).every(
    ([name, value]: [string, unknown]) =>
      (typeof value !== 'object' || value === null) && properties.some((it) => it.name === name),
  );
}

function accepts({ name, conditions, checks }: PropertyRules, dto: object): boolean {
  const value = (dto as Record<string, unknown>)[name];
  if (!conditions.every((isPresent) => isPresent(dto, value))) return true;
  const args = { targetName: dto.constructor.name, property: name, object: dto, value };
  return checks.every(
    ({ validator, constraints }) => validator.validate(value, { ...args, constraints }) === true,
  );
}
