// @ts-check
// Applies decorators as TypeScript does, for features in JavaScript.
import { Module } from '@nestjs/common';

/**
 * Decorates a method. The last decorator is applied first.
 *
 * @param {Function} target
 * @param {string} name
 * @param {...MethodDecorator} decorators
 */
export function decorate(target, name, ...decorators) {
  const descriptor = /** @type {PropertyDescriptor} */ (
    Object.getOwnPropertyDescriptor(target.prototype, name)
  );
  for (const apply of decorators.toReversed()) apply(target.prototype, name, descriptor);
}

/**
 * Returns a module.
 *
 * @param {import('@nestjs/common').ModuleMetadata} metadata
 */
export function feature(metadata) {
  // eslint-disable-next-line @typescript-eslint/no-extraneous-class -- the decorator is all of it
  class FeatureModule {}
  Module(metadata)(FeatureModule);
  return FeatureModule;
}
