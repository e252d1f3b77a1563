import 'reflect-metadata';
import { Transform } from 'class-transformer';

/**
 * Returns the value that a property gets in its DTO. If it cannot convert a value, it returns the
 * value unchanged, and the rules of the property reject it.
 */
type Conversion = (value: unknown) => unknown;

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
