import { type ExecutionContext, Injectable } from '@nestjs/common';
import { type ReflectableDecorator, Reflector } from '@nestjs/core';
import { requestOf } from './request-context.js';

/**
 * Returns what a decorator declares for a route: on its handler, or else on its controller. It caches
 * the values of NestJS's Reflector, which takes a microsecond for each (see docs/performance.md).
 */
@Injectable()
export class RouteMetadata {
  /** By Express's route, which has one handler. */
  private readonly routes = new WeakMap<object, Map<unknown, unknown>>();

  constructor(private readonly reflector: Reflector) {}

  /** @param key a decorator of `Reflector.createDecorator`, or the key of a decorator of a package */
  of<Value>(
    context: ExecutionContext,
    key: ReflectableDecorator<never, Value> | string,
  ): Value | undefined {
    const route = requestOf(context).route as object;
    let values = this.routes.get(route);
    if (!values) this.routes.set(route, (values = new Map()));
    if (!values.has(key)) {
      const targets = [context.getHandler(), context.getClass()];
      values.set(key, this.reflector.getAllAndOverride(key, targets));
    }
    return values.get(key) as Value | undefined;
  }
}
