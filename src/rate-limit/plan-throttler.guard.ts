import { type CanActivate, type ExecutionContext, Injectable, Logger } from '@nestjs/common';
import { Authenticator, loggedCaller } from '../auth/authenticator.js';
import type { Caller } from '../auth/caller.js';
import { isPublic } from '../auth/public.decorator.js';
import { requestOf, responseOf } from '../http/request/request-context.js';
import type { Request } from '../http/request/request.js';
import { limitHeaders, limitRejection } from './limit-headers.js';
import {
  type Budget,
  LimitStorage,
  type Quota,
  type RateLimitDecision,
  type Reservation,
} from './limit-storage.js';
import { RateLimiter } from './rate-limiter.js';
import { routeCounting } from './route-counting.js';

const ANONYMOUS: Caller = { kind: 'anonymous', reason: 'missing' };

interface IdentifiedCaller {
  caller: Caller;
  /** The budget of the API key's owner or, without a valid API key, of the client address. */
  budget: Budget;
  /** Set if the request was counted in this budget before its API key was looked up. */
  reserved: RateLimitDecision | undefined;
}

/**
 * Identifies the caller, counts the request, sets the rate limit headers, and rejects requests over
 * the limit. It runs before ApiKeyGuard, so that it counts requests without a valid API key.
 * docs/decisions/0012 explains why this guard does not extend ThrottlerGuard.
 */
@Injectable()
export class PlanThrottlerGuard implements CanActivate {
  private readonly logger = new Logger(PlanThrottlerGuard.name);
  /** Pending reservations by address and API key: requests that need the same lookup share one. */
  private readonly reservations = new Map<string, Promise<Reservation>>();

  constructor(
    private readonly authenticator: Authenticator,
    private readonly limiter: RateLimiter,
    private readonly storage: LimitStorage,
  ) {}

  /** @throws ServiceError rate_limit_exceeded or api_key_banned, with `Retry-After` */
  async canActivate(context: ExecutionContext): Promise<boolean> {
    if (isPublic(context)) return true;
    const request = requestOf(context);
    const identified = await this.identify(request);
    const { caller, budget } = identified;
    request.caller = caller;
    request.callerId = budget.id;

    const { isSkipped, quota } = routeCounting(context);
    const counted = isCounted(caller, isSkipped);
    const decision = await this.decide(identified, counted, quota);
    const response = responseOf(context);
    for (const [name, value] of limitHeaders(decision)) response.setHeader(name, value);
    if (decision.banBegins) this.logBan(request, budget, decision);
    if (counted && !decision.allowed) throw limitRejection(decision);
    return true;
  }

  /** Identifies the caller. Counts a request for its address before it looks up the API key. */
  private async identify(request: Request): Promise<IdentifiedCaller> {
    let reserved: RateLimitDecision | undefined;
    const reserveLookup = async (hash: string): Promise<boolean> => {
      const address = this.limiter.addressBudget(request.clientAddress);
      const id = `${address.id} ${hash}`;
      const shared = this.reservations.get(id);
      const { decision, mayLookUp } = await (shared ?? this.reserve(id, address));
      // Another request made the reservation and records or refunds it. This one is counted after
      // the lookup.
      if (!shared || !mayLookUp) reserved = decision;
      return mayLookUp;
    };
    const caller = request.corsPreflight
      ? ANONYMOUS
      : await this.authenticator.identify(request, reserveLookup);
    if (caller.kind !== 'key') {
      return { caller, budget: this.limiter.addressBudget(request.clientAddress), reserved };
    }
    if (reserved) {
      // Not awaited: Redis gets this command and the next one in one round trip.
      void this.storage.refund(this.limiter.addressBudget(request.clientAddress), reserved);
    }
    return { caller, budget: this.limiter.ownerBudget(caller.key), reserved: undefined };
  }

  private async reserve(id: string, address: Budget): Promise<Reservation> {
    const pending = this.storage.reserve(address);
    this.reservations.set(id, pending);
    try {
      return await pending;
    } finally {
      this.reservations.delete(id);
    }
  }

  private decide(
    { caller, budget, reserved }: IdentifiedCaller,
    isCounted: boolean,
    route: Quota | undefined,
  ): Promise<RateLimitDecision> {
    if (route && isCounted && caller.reason !== 'unverified') {
      // The reservation did not include the route. Redis gets both commands in one round trip.
      if (reserved) void this.storage.refund(budget, reserved);
      return this.limiter.consume({ ...budget, quotas: [...budget.quotas, route] });
    }
    if (!reserved) return isCounted ? this.limiter.consume(budget) : this.storage.peek(budget);
    return isCounted
      ? Promise.resolve(this.limiter.record(budget, reserved))
      : this.storage.refund(budget, reserved);
  }

  private logBan(
    request: Request,
    { plan }: Budget,
    { bannedUntilMs = 0 }: RateLimitDecision,
  ): void {
    const bannedUntil = new Date(bannedUntilMs).toISOString();
    const caller = loggedCaller(request);
    this.logger.warn({
      msg: 'API key banned',
      requestId: request.id,
      ...caller,
      plan,
      bannedUntil,
    });
  }
}

/**
 * Without its lookup, a request is not counted if the database is unavailable, and gets 429 on every
 * route, `@SkipThrottle()` included, if its address is over its limit of lookups.
 */
function isCounted({ reason }: Caller, isSkipped: boolean): boolean {
  return reason === 'unverified' || !(reason === 'unavailable' || isSkipped);
}
