import { Injectable, type NestMiddleware, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { Authenticator } from './access/authenticator.js';
import type { Bounds } from './config/bounds.js';
import { Settings } from './config/settings.js';
import { BoundedPool } from './database/pools/bounded-pool.js';
import { serviceOverloaded } from './errors/service-error.js';
import { ArrivingBodies } from './http/body/arriving-bodies.js';
import { hasBody, isHealthProbe } from './http/request/request-context.js';
import type { NextFunction, Request, Response } from './http/request/request.js';
import { sendError } from './http/response/send-json.js';
import {
  ConnectionsMiddleware,
  type ResponseObserver,
} from './http/server/connections.middleware.js';
import type { HttpAdapter } from './http/server/http-adapter.js';
import { ServiceMetrics } from './metrics/service-metrics.js';
import { PlanThrottlerGuard } from './rate-limit/plan-throttler.guard.js';

/**
 * Sheds requests when too many are in progress or the queue for the database is full: they get 503
 * before they are counted, without a query or a command to Redis. Requests without a valid API key
 * are shed first. Health probes are never shed.
 */
@Injectable()
export class OverloadMiddleware implements NestMiddleware, OnModuleInit, ResponseObserver {
  /** The number of shed requests by the limit that they would have exceeded. */
  readonly shed = { requests_in_progress: 0, unauthenticated_requests: 0, database_queue: 0 };
  /** The number of admitted requests without a response, which a slow reader does not increase. */
  private inProgress = 0;
  private readonly bounds: Bounds;

  constructor(
    settings: Settings,
    connections: ConnectionsMiddleware,
    private readonly bodies: ArrivingBodies,
    private readonly pool: BoundedPool,
    private readonly authenticator: Authenticator,
    private readonly limiter: PlanThrottlerGuard,
    private readonly host: HttpAdapterHost,
    metrics: ServiceMetrics,
  ) {
    this.bounds = settings.bounds;
    metrics.add('requests_in_progress', 'Requests in progress', () => this.inProgress);
    metrics.add('arriving_body_bytes', 'Memory of arriving bodies', () => bodies.bytes);
    metrics.add(
      'shed_total',
      'Requests that got 503 and connections that were closed because a bound was reached, by bound',
      () => ({ ...this.shed, ...connections.closed, arriving_bodies: bodies.rejected }),
      ['bound'],
    );
  }

  onModuleInit(): void {
    const adapter = this.host.httpAdapter as unknown as HttpAdapter;
    adapter.beforeHead = (request, response) => {
      this.onClose(request);
      // The guards have not set them, for example because middleware of a feature responds.
      if (response.hasHeader('x-ratelimit-limit') || isHealthProbe(request)) return;
      this.limiter.reportForAddress(request.clientAddress, response);
    };
  }

  use(request: Request, response: Response, next: NextFunction): void {
    if (isHealthProbe(request)) return next();
    const bound = this.exceededBound(request);
    if (bound) {
      this.shed[bound]++;
      if (hasBody(request)) request.ignoresInput = true;
      return sendError(response, serviceOverloaded(`limit reached: ${bound}`));
    }
    request.isInProgress = true;
    this.inProgress++;
    // One tick later, Node has also parsed a body that arrived with the head. Before that, a
    // rejection would close the connection, because the body is not complete.
    if (hasBody(request) && this.authenticator.hasValidKey(request)) {
      setImmediate(() => !request.socket.destroyed && next());
    } else next();
  }

  onClose(request: Request): void {
    if (request.isInProgress) this.inProgress--;
    request.isInProgress = false;
  }

  private exceededBound(request: Request): keyof OverloadMiddleware['shed'] | undefined {
    if (this.pool.isSaturated) return 'database_queue';
    const { maxRequestsInProgress, maxUnauthenticatedRequests } = this.bounds;
    const { inProgress } = this;
    if (inProgress < maxUnauthenticatedRequests) return undefined;
    if (!this.authenticator.hasValidKey(request)) return 'unauthenticated_requests';
    const hasRoom = inProgress < maxRequestsInProgress || this.bodies.rejectOldest();
    return hasRoom ? undefined : 'requests_in_progress';
  }
}
