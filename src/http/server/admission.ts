import type { Server } from 'node:http';
import { serviceOverloaded } from '../../errors/service-error.js';
import { sendError } from '../response/send-json.js';
import type {
  NextFunction,
  Request,
  RequestSlot,
  Response,
  SetRateLimitHeaders,
} from '../request/request.js';

/** The limits on requests in progress. */
interface AdmissionBounds {
  maxRequestsInProgress: number;
  /** Requests without a valid API key, or whose API key is not checked yet. */
  maxUnauthenticatedRequests: number;
}

/** The limit that a shed request would have exceeded. */
type SheddingBound = 'requests_in_progress' | 'unauthenticated_requests' | 'database_queue';

/** The functions by which Admission inspects a request and rejects it. */
interface AdmissionInputs {
  /** The connections to the primary. Saturated: the queue for a connection is full. */
  pool: { readonly isSaturated: boolean };
  /** How many requests can have a connection of a pool, or a place in its queue. */
  databasePlaces: number;
  /** Whether the cache contains the request's API key and the key is valid. */
  hasCachedKey(request: Request): boolean;
  setRateLimitHeaders: SetRateLimitHeaders;
  /** Called after a request was shed and its response sent. */
  onShed(request: Request): void;
}

/**
 * Sheds requests when too many are in progress or the queue for the database could be full. A shed
 * request gets 503 immediately, before it is counted against a rate limit and before its API key is
 * looked up. A lower limit applies to requests whose API key is not known to be valid, so that they
 * are shed first. Health probes are never shed.
 */
export class Admission {
  private readonly used: UsedSlots = { all: 0, unauthenticated: 0 };
  /** The number of shed requests by limit. */
  readonly shed: Record<SheddingBound, number> = {
    requests_in_progress: 0,
    unauthenticated_requests: 0,
    database_queue: 0,
  };

  constructor(
    readonly bounds: AdmissionBounds,
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
    request.slot = new Slot(this.used);
    next();
  };

  private exceededBound(request: Request): SheddingBound | undefined {
    if (this.used.all >= this.bounds.maxRequestsInProgress) return 'requests_in_progress';
    if (this.inputs.pool.isSaturated || this.used.all >= this.inputs.databasePlaces) {
      return 'database_queue';
    }
    return this.used.unauthenticated >= this.bounds.maxUnauthenticatedRequests &&
      !this.inputs.hasCachedKey(request)
      ? 'unauthenticated_requests'
      : undefined;
  }

  private async reject(request: Request, response: Response, bound: SheddingBound): Promise<void> {
    this.shed[bound]++;
    await this.inputs.setRateLimitHeaders(request, response);
    response.once('close', () => this.inputs.onShed(request));
    sendError(response, serviceOverloaded(`limit reached: ${bound}`));
  }
}

interface UsedSlots {
  all: number;
  unauthenticated: number;
}

class Slot implements RequestSlot {
  private isHeld = false;
  private isAuthenticated = false;

  constructor(private readonly used: UsedSlots) {
    this.reacquire();
  }

  release(): void {
    if (this.isHeld) this.add(-1);
    this.isHeld = false;
  }

  reacquire(): void {
    if (!this.isHeld) this.add(1);
    this.isHeld = true;
  }

  setAuthenticated(): void {
    if (this.isHeld && !this.isAuthenticated) this.used.unauthenticated--;
    this.isAuthenticated = true;
  }

  private add(slots: number): void {
    this.used.all += slots;
    if (!this.isAuthenticated) this.used.unauthenticated += slots;
  }
}

/** The paths of HealthController, with or without a query. */
const HEALTH_PROBE = /^\/health\/(?:live|ready)(?:$|\?)/;

/** Returns whether Admission never sheds a request, and Arrivals never delays it. */
export function isHealthProbe({ url }: Request): boolean {
  return HEALTH_PROBE.test(url);
}

/** How many requests start per event-loop tick while connections arrive. */
const REQUESTS_PER_TICK = 2;

/**
 * Starts only a few requests per event-loop tick while clients connect, in the order of arrival.
 * This saves waiting time in a burst of connections: Node accepts one connection per tick, so each
 * request in a tick delays the clients that wait to connect, health probes included (see
 * docs/performance.md).
 * It relies on libuv 1.45 or later accepting one connection per tick, and on `setImmediate` running
 * once per tick.
 * If libuv accepts several connections per tick again, the delay has no benefit: remove this class
 * then, and let Connections call the request listener.
 */
export class Arrivals {
  private isArriving = false;
  private hasAccepted = false;
  private readonly waiting: (() => void)[] = [];

  /** Observes the new connections of a server. */
  attach(server: Server): void {
    server.on('connection', () => {
      this.hasAccepted = true;
      if (this.isArriving) return;
      this.isArriving = true;
      setImmediate(this.endTick);
    });
  }

  /** Starts a request now or, while connections arrive, at the end of this tick or a later one. */
  start(request: () => void): void {
    if (this.isArriving) this.waiting.push(request);
    else request();
  }

  private readonly endTick = (): void => {
    const { hasAccepted } = this;
    this.hasAccepted = false;
    this.isArriving = hasAccepted;
    const requests = this.waiting.splice(0, hasAccepted ? REQUESTS_PER_TICK : Infinity);
    if (hasAccepted) setImmediate(this.endTick);
    for (const start of requests) start();
  };
}
