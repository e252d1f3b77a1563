// Routes that have a limit of their own, are not counted, or are open to everyone.
import { Controller, type ExecutionContext, Get, Module } from '@nestjs/common';
import { SkipThrottle, Throttle } from '@nestjs/throttler';
import { findCaller } from '#platform';
import { Public } from '../../../src/platform/http/request/public.decorator.js';

/** Returns a controller with a GET route for each name. */
function controller(
  path: string,
  routes: Record<string, MethodDecorator[]>,
  ...decorators: ClassDecorator[]
) {
  @Controller(path)
  class RoutesController {}
  const prototype = RoutesController.prototype as Record<string, unknown>;
  for (const [name, own] of Object.entries(routes)) {
    const descriptor = { value: () => ({}), configurable: true };
    Object.defineProperty(prototype, name, descriptor);
    for (const decorate of [...own, Get(name)]) decorate(prototype, name, descriptor);
  }
  for (const decorate of decorators) decorate(RoutesController);
  return RoutesController;
}

/** 2 for the plan Pro, otherwise 1. */
function limitOf(context: ExecutionContext): number {
  return findCaller(context)?.plan === 'pro' ? 2 : 1;
}

const limit = (limit: number, ttl: number) => Throttle({ default: { limit, ttl } });

@Module({
  controllers: [
    controller('reports', { monthly: [], yearly: [], skipped: [SkipThrottle()] }, limit(2, 10_000)),
    controller('free', { read: [] }),
    controller(
      'uncounted',
      { skipped: [], counted: [SkipThrottle({ default: false })] },
      SkipThrottle(),
    ),
    controller('plain', {
      skipped: [SkipThrottle()],
      counted: [],
      open: [Public()],
      free: [Public(), SkipThrottle()],
      limited: [Public(), limit(1, 60_000)],
      'by-plan': [Throttle({ default: { limit: limitOf, ttl: () => Promise.resolve(5_000) } })],
    }),
    controller('open', { open: [] }, Public()),
  ],
})
class LimitedFeature {}
export default [LimitedFeature];
