import type { Type } from '@nestjs/common';
import { getMetadataStorage } from 'class-validator';

const storage = getMetadataStorage();
const collectRules = storage.getTargetValidationMetadatas.bind(storage);
const groupRules = storage.groupByPropertyName.bind(storage);

type Rules = ReturnType<typeof collectRules>;

const rulesByClass = new WeakMap<object, Rules>();
const propertiesByClass = new WeakMap<object, readonly string[]>();
const groupsByRules = new WeakMap<Rules, ReturnType<typeof groupRules>>();

// class-validator would collect and group the rules of a class again for each object, in a time that
// grows with the number of all DTO classes (docs/performance.md). Its validator reads them through
// these two methods of its storage. If a release does not, it gets
// slower, and messages list inherited properties last, which the tests of the list notice.
storage.getTargetValidationMetadatas = (dto, schema, always, strictGroups, groups) =>
  always || strictGroups || groups?.length
    ? collectRules(dto, schema, always, strictGroups, groups)
    : rulesOf(dto);
storage.groupByPropertyName = (rules) => {
  let groups = groupsByRules.get(rules);
  if (!groups) groupsByRules.set(rules, (groups = groupRules(rules)));
  return groups;
};

/** Returns the rules of a class, those of its base classes first, as their properties are declared. */
function rulesOf(dto: object): Rules {
  let rules = rulesByClass.get(dto);
  if (!rules) {
    rules = collectRules(dto as Type, '', false, false);
    rules.sort((a, b) => depthOf(a.target) - depthOf(b.target));
    rulesByClass.set(dto, rules);
  }
  return rules;
}

function depthOf(target: unknown): number {
  return target ? 1 + depthOf(Object.getPrototypeOf(target)) : 0;
}

/** Returns whether a type is a class with a validation rule. */
export function isDto(type: unknown): type is Type {
  return typeof type === 'function' && rulesOf(type).length > 0;
}

/** Returns the properties of a class that have a rule, in the order of the messages. */
export function propertiesOf(dto: object): readonly string[] {
  let properties = propertiesByClass.get(dto);
  if (!properties) {
    properties = [...new Set(rulesOf(dto).map(({ propertyName }) => propertyName))];
    propertiesByClass.set(dto, properties);
  }
  return properties;
}
