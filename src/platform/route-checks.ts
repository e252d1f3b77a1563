import { Injectable, type OnModuleInit } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { cachingProblems } from './access/cached-route-check.js';
import { callerKeyProblems } from './access/caller-key.decorator.js';
import { StartError } from './errors/start-error.js';
import { routeHandlers } from './http/request/route-handlers.js';
import { handlerProblems } from './http/validation/parameter-check.js';
import { idempotencyProblems } from './idempotency/idempotent-route-check.js';
import { requestLogProblems } from './logging/request-log-check.js';
import { routeLimitProblems } from './rate-limit/route-limit.js';

/** Stops the start when a route would not do what its decorators and its parameters say. */
@Injectable()
export class RouteChecks implements OnModuleInit {
  constructor(private readonly discovery: DiscoveryService) {}

  /** @throws StartError with one line for each problem */
  onModuleInit(): void {
    const handlers = routeHandlers(this.discovery);
    const problems = [
      ...handlers.flatMap(({ controller, name }) => handlerProblems(controller, name)),
      ...handlers.flatMap(idempotencyProblems),
      ...handlers.flatMap(routeLimitProblems),
      ...handlers.flatMap(cachingProblems),
      ...handlers.flatMap(callerKeyProblems),
      ...requestLogProblems(this.discovery.getProviders()),
    ];
    if (problems.length > 0) throw new StartError([...new Set(problems)].join('\n'));
  }
}
