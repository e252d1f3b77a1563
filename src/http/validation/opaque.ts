import 'reflect-metadata';
import { Allow } from 'class-validator';

const OPAQUE = Symbol('opaque properties');

/**
 * The property is taken as it was sent, whatever that is: who uses it says what is wrong with it. No rule of another
 * property may look at it: what is sent of opaque properties alone is not validated again.
 */
export function IsOpaque(): PropertyDecorator {
  const allow = Allow();
  return (prototype, property) => {
    allow(prototype, property);
    const names = new Set(opaquePropertiesOf(prototype));
    Reflect.defineMetadata(OPAQUE, names.add(String(property)), prototype);
  };
}

/** Returns the names of a DTO class's opaque properties. @param prototype the class's prototype */
export function opaquePropertiesOf(prototype: object): ReadonlySet<string> {
  return (Reflect.getMetadata(OPAQUE, prototype) as ReadonlySet<string> | undefined) ?? new Set();
}
