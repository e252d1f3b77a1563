import { DiscoveryService, type ModulesContainer } from '@nestjs/core';
import { ApiRouteLimit } from '../http/openapi/decorators/api-route-limit.decorator.js';
import { SECOND_MS } from '../config/clock.js';
import { routeHandlers } from '../http/request/route-handlers.js';
import { readRouteCounting } from './route-counting.js';

/**
 * Adds the limits of `@Throttle()` to the decorators that the interface description is made from.
 * Call it before the description is made. `@Throttle()` of @nestjs/throttler cannot do this itself.
 */
export function describeRouteLimits(modules: ModulesContainer): void {
  for (const { controller, name, method } of routeHandlers(new DiscoveryService(modules))) {
    const { quota } = readRouteCounting(controller, method);
    if (!quota) continue;
    const describe = ApiRouteLimit({ limit: quota.limit, seconds: quota.lengthMs / SECOND_MS });
    describe(controller.prototype as object, name, { value: method });
  }
}
