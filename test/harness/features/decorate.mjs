// @ts-check
// Applies decorators as TypeScript does, for features in JavaScript.
import { Controller, Module } from '@nestjs/common';

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
 * Decorates several methods.
 *
 * @param {Function} target
 * @param {Record<string, MethodDecorator[]>} methods the decorators of each
 */
export function decorateAll(target, methods) {
  for (const [name, decorators] of Object.entries(methods)) decorate(target, name, ...decorators);
}

/**
 * Returns a controller whose handlers return an empty object.
 *
 * @param {import('@nestjs/common').ControllerOptions} options
 * @param {Record<string, MethodDecorator[]>} handlers the decorators of each
 * @param {...ClassDecorator} decorators
 */
export function controller(options, handlers, ...decorators) {
  // eslint-disable-next-line @typescript-eslint/no-extraneous-class -- its methods are defined below
  class EmptyController {}
  for (const name of Object.keys(handlers)) {
    const value = () => ({});
    Object.defineProperty(EmptyController.prototype, name, { value, configurable: true });
  }
  decorateAll(EmptyController, handlers);
  for (const apply of [Controller(options), ...decorators]) apply(EmptyController);
  return EmptyController;
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
