import 'reflect-metadata';
import { Transform } from 'class-transformer';

/**
 * Returns the value that a property gets in its DTO. It returns a value that it cannot convert
 * unchanged, so that the property's rules reject it.
 */
export type Conversion = (value: unknown) => unknown;

const CONVERSIONS = Symbol('conversions');

/** Converts a DTO property before it is validated, as class-transformer's `@Transform` does. */
export function Convert(conversion: Conversion): PropertyDecorator {
  const transform = Transform(({ value }) => conversion(value), { toClassOnly: true });
  return (prototype, property) => {
    transform(prototype, property);
    const conversions = new Map(conversionsOf(prototype));
    Reflect.defineMetadata(CONVERSIONS, conversions.set(String(property), conversion), prototype);
  };
}

/** Returns the conversions of a DTO class by property. @param prototype the class's prototype */
export function conversionsOf(prototype: object): ReadonlyMap<string, Conversion> {
  return (
    (Reflect.getMetadata(CONVERSIONS, prototype) as ReadonlyMap<string, Conversion> | undefined) ??
    new Map<string, Conversion>()
  );
}
