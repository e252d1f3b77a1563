import type { Bounds } from '../../config/bounds.js';
import { serviceOverloaded } from '../../errors/service-error.js';
import { sendError } from '../response/send-json.js';
import type { NextFunction, Request, Response, SetRateLimitHeaders } from '../request/request.js';
import { RequestSlot, type UsedSlots } from '../request/request-slot.js';
import { type Connections, isHealthProbe } from './connections.js';

/** The parts of the service that Admission uses. */
interface AdmissionInputs {
  connections: Connections;
  /** The connections to the primary. Saturated: the queue for a connection is full. */
  pool: { readonly isSaturated: boolean };
  /** How many requests can have a connection of a pool, or a place in its queue. */
  databasePlaces: number;
  /** Whether the request's API key is valid, as far as this is known without a query. */
  hasValidKey(request: Request): boolean;
  setRateLimitHeaders: SetRateLimitHeaders;
}

/**
 * Sheds requests when too many are in progress or the queue for the database could be full: they
 * get 503 before they are counted and before their API key is looked up. A lower limit applies to
 * requests whose API key is not known to be valid. Health probes are never shed.
 */
export class Admission {
  private readonly used: UsedSlots = { all: 0, unauthenticated: 0 };
  /** The number of shed requests by the limit that they would have exceeded. */
  readonly shed = { requests_in_progress: 0, unauthenticated_requests: 0, database_queue: 0 };

  constructor(
    readonly bounds: Bounds,
    private readonly inputs: AdmissionInputs,
  ) {}

  get requestsInProgress(): number {
    return this.used.all;
  }

  /** Middleware. The request's slot is released when the head of the response is written. */
  readonly admit = (request: Request, response: Response, next: NextFunction): void => {
    if (isHealthProbe(request)) {
      next();
      return;
    }
    const bound = this.exceededBound(request);
    if (bound) {
      this.reject(request, response, bound).catch(next);
      return;
    }
    request.slot = new RequestSlot(this.used);
    next();
  };

  private exceededBound(request: Request): keyof Admission['shed'] | undefined {
    const { all, unauthenticated } = this.used;
    if (all >= this.bounds.maxRequestsInProgress) return 'requests_in_progress';
    if (this.inputs.pool.isSaturated || all >= this.inputs.databasePlaces) return 'database_queue';
    if (unauthenticated < this.bounds.maxUnauthenticatedRequests) return undefined;
    return this.inputs.hasValidKey(request) ? undefined : 'unauthenticated_requests';
  }

  private async reject(
    request: Request,
    response: Response,
    bound: keyof Admission['shed'],
  ): Promise<void> {
    this.shed[bound]++;
    await this.inputs.setRateLimitHeaders(request, response);
    response.once('close', () => this.inputs.connections.pauseReading(request));
    sendError(response, serviceOverloaded(`limit reached: ${bound}`));
  }
}
