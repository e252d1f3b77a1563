import { serviceOverloaded } from '../../errors/service-error.js';
import { sendError } from '../response/send-json.js';
import type {
  NextFunction,
  Request,
  RequestSlot,
  Response,
  SetRateLimitHeaders,
} from '../request/request.js';

/** How many requests may be in progress. */
export interface AdmissionBounds {
  maxRequestsInProgress: number;
  /** Requests that are not known to have a valid API key. */
  maxUnauthenticatedRequests: number;
}

/** Why a request was shed. */
export type SheddingBound = 'requests_in_progress' | 'unauthenticated_requests' | 'database_queue';

/** What the decision depends on besides the number of requests in progress. */
export interface AdmissionInputs {
  /** Whether one more request could find the queue for a database connection full. */
  isDatabaseSaturated(requestsInProgress: number): boolean;
  /** Whether the request's API key is valid, as far as the cache knows. */
  hasCachedKey(request: Request): boolean;
  setRateLimitHeaders: SetRateLimitHeaders;
  /** Called after a request was shed and its response sent. */
  onShed(request: Request): void;
}

/**
 * Bounds the requests in progress. The excess gets 503 at once, before anything is counted or
 * looked up; requests without a valid API key go first. Health probes always pass.
 */
export class Admission {
  private readonly places: Places = { all: 0, unauthenticated: 0 };
  /** How many requests were shed, by bound. */
  readonly shed: Record<SheddingBound, number> = {
    requests_in_progress: 0,
    unauthenticated_requests: 0,
    database_queue: 0,
  };

  constructor(
    readonly bounds: AdmissionBounds,
    private readonly inputs: AdmissionInputs,
  ) {}

  /** Requests that have a place now. */
  get requestsInProgress(): number {
    return this.places.all;
  }

  /** The step before the router. A response releases the request's place when its head is written. */
  readonly admit = (
    request: Request,
    response: Response,
    next: NextFunction,
  ): Promise<void> | undefined => {
    if (isHealthProbe(request)) {
      next();
      return undefined;
    }
    const bound = this.exceededBound(request);
    if (bound) return this.reject(request, response, bound);
    request.slot = new Slot(this.places);
    next();
    return undefined;
  };

  private exceededBound(request: Request): SheddingBound | undefined {
    if (this.places.all >= this.bounds.maxRequestsInProgress) return 'requests_in_progress';
    if (this.inputs.isDatabaseSaturated(this.places.all)) return 'database_queue';
    return this.places.unauthenticated >= this.bounds.maxUnauthenticatedRequests &&
      !this.inputs.hasCachedKey(request)
      ? 'unauthenticated_requests'
      : undefined;
  }

  private async reject(request: Request, response: Response, bound: SheddingBound): Promise<void> {
    this.shed[bound]++;
    await this.inputs.setRateLimitHeaders(request, response);
    response.once('close', () => this.inputs.onShed(request));
    sendError(response, serviceOverloaded(`bound reached: ${bound}`));
  }
}

/** How many places are taken. */
interface Places {
  all: number;
  unauthenticated: number;
}

class Slot implements RequestSlot {
  private isHeld = false;
  private isAuthenticated = false;

  constructor(private readonly places: Places) {
    this.takeBack();
  }

  release(): void {
    if (this.isHeld) this.add(-1);
    this.isHeld = false;
  }

  takeBack(): void {
    if (!this.isHeld) this.add(1);
    this.isHeld = true;
  }

  setAuthenticated(): void {
    if (this.isHeld && !this.isAuthenticated) this.places.unauthenticated--;
    this.isAuthenticated = true;
  }

  private add(places: number): void {
    this.places.all += places;
    if (!this.isAuthenticated) this.places.unauthenticated += places;
  }
}

const HEALTH_PROBES = new Set(['/health/live', '/health/ready']);

/** Returns whether a request is a health probe: these are never shed and never wait. */
export function isHealthProbe({ url }: Request): boolean {
  return HEALTH_PROBES.has(url);
}
