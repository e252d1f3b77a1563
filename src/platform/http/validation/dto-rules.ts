import type { Type } from '@nestjs/common';
import { plainToInstance } from 'class-transformer';
import { getMetadataStorage, IS_IN } from 'class-validator';

/** Returns the rules of a class, those of its base classes first, as their properties are declared. */
export function rulesOf(dto: Type) {
  return getMetadataStorage()
    .getTargetValidationMetadatas(dto, '', false, false)
    .sort((a, b) => depthOf(a.target) - depthOf(b.target));
}

/** The properties of a class that have a rule, in the order of the messages. */
export const propertiesOf = cached((dto) => [
  ...new Set(rulesOf(dto).map(({ propertyName }) => propertyName)),
]);

/** Returns the strings that a rule such as `@IsOneOf()` lists for a property. */
export function choicesOf(dto: Type, property: string): readonly string[] | undefined {
  const rule = rulesOf(dto).find(
    ({ name, propertyName }) => name === IS_IN && propertyName === property,
  );
  return rule?.constraints[0] as readonly string[] | undefined;
}

/** The names of the members that set these properties, with those of `@Expose({ name })`. */
export const membersOf = cached((dto) => {
  const names = new Set(propertiesOf(dto));
  // class-transformer reads every exposed member, and with these options calls no `@Transform()`.
  const probe = new Proxy(
    {},
    {
      get: (_target, name) => {
        // It reads `then` of every value, which could be a promise.
        if (name !== 'then') names.add(String(name));
      },
    },
  );
  plainToInstance(dto, probe, { excludeExtraneousValues: true, exposeDefaultValues: true });
  return [...names];
});

/** The known names of a class, and members by their name in lower case. */
export const namesOf = cached((dto) => {
  const names = new Map(membersOf(dto).map((name) => [name.toLowerCase(), name]));
  for (const name of [...membersOf(dto), ...propertiesOf(dto)]) names.set(name, name);
  return names;
});

/** Returns a function that computes a value once for each class: class-validator looks at all classes. */
export function cached<Value extends object>(compute: (dto: Type) => Value) {
  const values = new WeakMap<object, Value>();
  return (dto: object): Value => {
    let value = values.get(dto);
    if (!value) values.set(dto, (value = compute(dto as Type)));
    return value;
  };
}

function depthOf(target: unknown): number {
  return target ? 1 + depthOf(Object.getPrototypeOf(target)) : 0;
}

/** Returns whether a type is a class with a validation rule. */
export function isDto(type: unknown): boolean {
  return typeof type === 'function' && propertiesOf(type).length > 0;
}
