import { Injectable, type NestMiddleware } from '@nestjs/common';
import { Authenticator } from './access/authenticator.js';
import type { Bounds } from './config/bounds.js';
import { Settings } from './config/settings.js';
import { BoundedPool } from './database/pools/bounded-pool.js';
import { serviceOverloaded } from './errors/service-error.js';
import { ArrivingBodies } from './http/body/arriving-bodies.js';
import { isHealthProbe } from './http/request/request-context.js';
import type { NextFunction, Request, Response } from './http/request/request.js';
import { sendError } from './http/response/send-json.js';
import { Connections } from './http/server/connections.js';
import { ServiceMetrics } from './metrics/service-metrics.js';
import { RateLimiter } from './rate-limit/rate-limiter.js';

/**
 * Sheds requests when too many are in progress or the queue for the database is full: they get 503
 * before they are counted, without a query or a command to Redis. Requests without a valid API key
 * are shed first. Health probes are never shed.
 */
@Injectable()
export class Overload implements NestMiddleware {
  /** The number of shed requests by the limit that they would have exceeded. */
  readonly shed = { requests_in_progress: 0, unauthenticated_requests: 0, database_queue: 0 };
  /** Whether a feature has middleware, which can respond before PlanThrottlerGuard. */
  setsLimitHeaders = false;
  private readonly bounds: Bounds;

  constructor(
    settings: Settings,
    private readonly connections: Connections,
    private readonly bodies: ArrivingBodies,
    private readonly pool: BoundedPool,
    private readonly authenticator: Authenticator,
    private readonly limiter: RateLimiter,
    metrics: ServiceMetrics,
  ) {
    this.bounds = settings.bounds;
    metrics.gauge(
      'pets_requests_in_progress',
      'Requests in progress, without health probes',
      () => connections.inProgress,
    );
    metrics.gauge(
      'pets_requests_in_progress_max',
      'Maximum number of requests in progress (MAX_REQUESTS_IN_PROGRESS)',
      () => this.bounds.maxRequestsInProgress,
    );
    metrics.gauge(
      'pets_arriving_bodies',
      'Requests that wait for the rest of their body',
      () => bodies.count,
    );
    metrics.gauge(
      'pets_arriving_body_bytes',
      'Bytes that have arrived of these bodies (MAX_ARRIVING_MEBIBYTES)',
      () => bodies.bytes,
    );
    metrics.counter(
      'pets_shed_total',
      'Requests that got 503 and connections that were closed because a bound was reached, by bound',
      () => ({ ...this.shed, ...connections.closed, arriving_bodies: bodies.rejected }),
      ['bound'],
    );
  }

  use(request: Request, response: Response, next: NextFunction): void {
    if (isHealthProbe(request)) {
      next();
      return;
    }
    const bound = this.exceededBound(request);
    if (bound) {
      this.reject(request, response, bound);
      return;
    }
    request.isInProgress = true;
    this.connections.inProgress++;
    if (this.setsLimitHeaders) this.limiter.reportForAddress(request.clientAddress, response);
    next();
  }

  private exceededBound(request: Request): keyof Overload['shed'] | undefined {
    if (this.pool.isSaturated) return 'database_queue';
    const { maxRequestsInProgress, maxUnauthenticatedRequests } = this.bounds;
    const { inProgress } = this.connections;
    if (inProgress < maxUnauthenticatedRequests) return undefined;
    // A client that sends slowly must not use up the requests of others.
    const busy = inProgress - this.bodies.count;
    if (busy >= maxRequestsInProgress) return 'requests_in_progress';
    if (busy < maxUnauthenticatedRequests) return undefined;
    return this.authenticator.hasValidKey(request) ? undefined : 'unauthenticated_requests';
  }

  private reject(request: Request, response: Response, bound: keyof Overload['shed']): void {
    this.shed[bound]++;
    this.limiter.reportForAddress(request.clientAddress, response);
    response.once('close', () => this.connections.pauseReading(request));
    sendError(response, serviceOverloaded(`limit reached: ${bound}`));
  }
}
