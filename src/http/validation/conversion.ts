import 'reflect-metadata';

/** Turns what was sent into the property's type; returns what it cannot turn as it is, to be refused. */
export type Conversion = (value: unknown) => unknown;

const CONVERSIONS = Symbol('conversions');

/** Marks a DTO property to be converted before it is validated. */
export function Convert(conversion: Conversion): PropertyDecorator {
  return (prototype, property) => {
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
