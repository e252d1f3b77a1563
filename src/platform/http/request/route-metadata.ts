import { type ExecutionContext, Injectable } from '@nestjs/common';
import { type ReflectableDecorator, Reflector } from '@nestjs/core';

/**
 * Returns what a decorator declares for a route: on its handler, or else on its controller. It caches
 * the values of NestJS's Reflector, which takes a microsecond for each (see docs/performance.md).
 */
@Injectable()
export class RouteMetadata {
  private readonly routes = new WeakMap<object, WeakMap<object, Map<unknown, unknown>>>();

  constructor(private readonly reflector: Reflector) {}

  /** @param key a decorator of `Reflector.createDecorator`, or the key of a decorator of a package */
  of<Value>(
    context: ExecutionContext,
    key: ReflectableDecorator<never, Value> | string,
  ): Value | undefined {
    const [handler, controller] = [context.getHandler(), context.getClass()];
    // Controllers that inherit a handler may have other decorators.
    let handlers = this.routes.get(controller);
    if (!handlers) this.routes.set(controller, (handlers = new WeakMap()));
    let values = handlers.get(handler);
    if (!values) handlers.set(handler, (values = new Map()));
    if (!values.has(key)) {
      values.set(key, this.reflector.getAllAndOverride(key, [handler, controller]));
    }
    return values.get(key) as Value | undefined;
  }
}
