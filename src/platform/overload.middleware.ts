import { Injectable, type NestMiddleware } from '@nestjs/common';
import { Authenticator } from './access/authenticator.js';
import { Settings } from './config/settings.js';
import { BoundedPool } from './database/pools/bounded-pool.js';
import { serviceOverloaded } from './errors/service-error.js';
import { ArrivingBodies } from './http/body/arriving-bodies.js';
import { awaitArrivedInput, ignoreInput } from './http/request/input.js';
import {
  hasBody,
  isHealthProbe,
  type NextFunction,
  type Request,
  type Response,
} from './http/request/request.js';
import type { ResponseObserver } from './http/response/response-observers.js';
import { sendError } from './http/response/send-body.js';

/**
 * Sheds requests when too many are in progress or the queue for the database is full: they get 503
 * before they are counted, without a query or a command to Redis. Requests without a valid API key
 * are shed first. Health probes are never shed.
 */
@Injectable()
export class OverloadMiddleware implements NestMiddleware, ResponseObserver {
  /** The number of shed requests by the limit that they would have exceeded. */
  readonly shed = { requests_in_progress: 0, unauthenticated_requests: 0, database_queue: 0 };
  /**
   * The number of admitted requests whose response has not begun, so that a client that reads slowly
   * does not raise it. Not a Set of requests: when a Set grows, V8 replaces its table, and the old table
   * can keep finished requests in memory until a full garbage collection.
   */
  inProgress = 0;

  constructor(
    private readonly settings: Settings,
    private readonly bodies: ArrivingBodies,
    private readonly pool: BoundedPool,
    private readonly authenticator: Authenticator,
  ) {}

  use(request: Request, response: Response, next: NextFunction): void {
    if (isHealthProbe(request)) return next();
    const bound = this.exceededBound(request);
    if (bound) {
      this.shed[bound]++;
      if (hasBody(request)) ignoreInput(request);
      return sendError(response, serviceOverloaded(`limit reached: ${bound}`));
    }
    request.state.isInProgress = true;
    this.inProgress++;
    if (hasBody(request) && this.authenticator.mayHaveValidKey(request)) {
      awaitArrivedInput(request, next);
    } else {
      next();
    }
  }

  beforeHead({ state }: Request): void {
    if (state.isInProgress) this.inProgress--;
    state.isInProgress = false;
  }

  onClose(request: Request): void {
    this.beforeHead(request);
  }

  private exceededBound(request: Request): keyof OverloadMiddleware['shed'] | undefined {
    if (this.pool.isSaturated) return 'database_queue';
    const { maxRequestsInProgress, maxUnauthenticatedRequests } = this.settings.bounds;
    const { inProgress } = this;
    if (inProgress < maxUnauthenticatedRequests) return undefined;
    if (!this.authenticator.mayHaveValidKey(request)) return 'unauthenticated_requests';
    const hasRoom = inProgress < maxRequestsInProgress || this.bodies.rejectOldest();
    return hasRoom ? undefined : 'requests_in_progress';
  }
}
