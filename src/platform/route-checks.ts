import { Injectable, type OnModuleInit } from '@nestjs/common';
import { DiscoveryService, HttpAdapterHost } from '@nestjs/core';
import type { Express } from 'express';
import { cachingProblems } from './access/cached-route-check.js';
import { callerKeyProblems } from './access/caller-key.decorator.js';
import { StartError } from './errors/start-error.js';
import { routeHandlers } from './http/request/route-handlers.js';
import type { RouteLayer } from './http/routing/allowed-methods.js';
import { labelHandlers, routingProblems } from './http/routing/unreachable-routes.js';
import { handlerProblems } from './http/validation/parameter-check.js';
import { idempotencyProblems } from './idempotency/idempotent-route-check.js';
import { requestLogProblems } from './logging/request-log-check.js';
import { routeLimitProblems } from './rate-limit/route-limit.js';

/** Stops the start when a route would not do what its decorators and its parameters say. */
@Injectable()
export class RouteChecks implements OnModuleInit {
  constructor(
    private readonly discovery: DiscoveryService,
    private readonly host: HttpAdapterHost,
  ) {
    labelHandlers(routeHandlers(discovery));
  }

  /** @throws StartError with one line for each problem */
  onModuleInit(): void {
    const handlers = routeHandlers(this.discovery);
    const { router } = this.host.httpAdapter.getInstance<Express>();
    const problems = [
      ...handlers.flatMap(({ controller, name }) => handlerProblems(controller, name)),
      ...routingProblems(router.stack as unknown as RouteLayer[]),
      ...handlers.flatMap(idempotencyProblems),
      ...handlers.flatMap(routeLimitProblems),
      ...handlers.flatMap(cachingProblems),
      ...handlers.flatMap(callerKeyProblems),
      ...requestLogProblems(this.discovery.getProviders()),
    ];
    if (problems.length > 0) throw new StartError([...new Set(problems)].join('\n'));
  }
}
