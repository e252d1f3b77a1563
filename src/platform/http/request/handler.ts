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

/** A decorated parameter of a handler. */
interface RouteParameter {
  /** A RouteParamtypes identifies the decorator. NaN: a decorator of `createParamDecorator`. */
  readonly kind: number;
  /** The function of `createParamDecorator`. */
  readonly factory?: unknown;
}

type Target = object & { readonly prototype?: unknown };

/** Returns a function that computes a value once for each route, because its decorators do not change. */
function oncePerRoute<Value extends object>(compute: (handler: Target, type: Target) => Value) {
  const values = new WeakMap<Target, WeakMap<Target, Value>>();
  return (handler: Target, type: Target): Value => {
    // A controller inherits the handlers of its base class.
    let ofHandler = values.get(handler);
    if (!ofHandler) values.set(handler, (ofHandler = new WeakMap()));
    let value = ofHandler.get(type);
    if (!value) ofHandler.set(type, (value = compute(handler, type)));
    return value;
  };
}

const parametersOf = oncePerRoute((handler, type): readonly RouteParameter[] => {
  const prototype = type.prototype as Record<string, object>;
  const methods = scanner.getAllMethodNames(prototype);
  const name = methods.find((method) => prototype[method] === handler);
  const metadata = Reflect.getMetadata(ROUTE_ARGS_METADATA, type, name ?? '') as
    Record<string, { factory?: unknown }> | undefined;
  // Each key is `kind:index`.
  return Object.entries(metadata ?? {}).map(([key, { factory }]) => {
    return { kind: Number(key.split(':', 1)[0]), factory };
  });
});

/** Returns the parameters of the handler of a route, also if a decorator has wrapped the method. */
export function routeParameters(context: ExecutionContext): readonly RouteParameter[] {
  return parametersOf(context.getHandler(), context.getClass());
}

/** Reads what decorators declare for a route once, not for each request. */
export class RouteReflector extends Reflector {
  private readonly routes = oncePerRoute(() => ({
    values: new Map<unknown, unknown>(),
    declaresAny: undefined as boolean | undefined,
  }));

  /** @param targets the handler of a route and its controller */
  // eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- as Reflector declares it
  override getAllAndOverride<Value>(
    key: unknown,
    targets: Parameters<Reflector['get']>[1][],
  ): Value {
    const [handler = Object, type = Object] = targets;
    const route = this.routes(handler, type);
    if (!route.values.has(key)) {
      const value = super.getAllAndOverride<Value>(key, targets);
      route.values.set(key, value);
      route.declaresAny = value !== undefined || route.declaresAny === true;
    }
    return route.values.get(key) as Value;
  }

  /** Returns whether a route has been asked for values, and declares none of them. */
  hasFoundNothing(context: ExecutionContext): boolean {
    return this.routes(context.getHandler(), context.getClass()).declaresAny === false;
  }
}

const reflector = new RouteReflector();

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
