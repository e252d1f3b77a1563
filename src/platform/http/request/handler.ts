import type { ExecutionContext } from '@nestjs/common';
import {
  DiscoveryService,
  MetadataScanner,
  type ReflectableDecorator,
  Reflector,
} from '@nestjs/core';
import { ROUTE_ARGS_METADATA } from '@nestjs/common/internal';

const scanner = new MetadataScanner();

/** Returns each controller and each of its methods, with the name of the controller. */
export function decoratedTargets(discovery: DiscoveryService): [name: string, target: object][] {
  return discovery.getControllers().flatMap(({ metatype }) => {
    const { name, prototype } = metatype as { name: string; prototype: Record<string, object> };
    const methods = scanner.getAllMethodNames(prototype).map((method) => prototype[method]);
    return [metatype, ...methods].map((target): [string, object] => [name, target as object]);
  });
}

/** The decorated parameters of a handler. Each key is `kind:index`. The kind identifies the decorator. */
type RouteParameters = Readonly<
  Record<string, { readonly factory?: unknown; readonly data?: unknown }>
>;

/** Returns the parameters of the handler of a route, also if a decorator has wrapped the method. */
export function routeParameters(context: ExecutionContext): RouteParameters {
  const handler: object = context.getHandler();
  const { prototype } = context.getClass() as { prototype: Record<string, object> };
  const methods = scanner.getAllMethodNames(prototype);
  const name = methods.find((method) => prototype[method] === handler);
  const type = context.getClass();
  return (Reflect.getMetadata(ROUTE_ARGS_METADATA, type, name ?? '') ?? {}) as RouteParameters;
}

const reflector = new Reflector();

/**
 * Returns what a decorator declares for a route: on its handler, or else on its controller.
 *
 * @param key a decorator of `Reflector.createDecorator`, or the key of a decorator of a package
 */
export function routeMetadata<Value>(
  context: ExecutionContext,
  key: ReflectableDecorator<never, Value> | string,
): Value | undefined {
  const targets = [context.getHandler(), context.getClass()];
  return reflector.getAllAndOverride<Value | undefined>(key, targets);
}
