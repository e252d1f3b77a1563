import { type CanActivate, type ExecutionContext, Injectable, Logger } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { SkipThrottle } from '@nestjs/throttler';
import type { Request } from 'express';
import { Authenticator } from '../auth/authenticator.js';
import type { Caller } from '../auth/caller.js';
import { isPublic } from '../auth/public.decorator.js';
import { perRoute, requestOf, responseOf } from '../http/request/http-context.js';
import { limitHeaders } from './limit-headers.js';
import { limitRejection } from './limit-rejection.js';
import type { Budget, RateLimitDecision, Reservation } from './limit-storage.js';
import { RateLimiter } from './rate-limiter.js';

/** The metadata key that `@SkipThrottle()` sets. @nestjs/throttler does not export it. */
const SKIP_THROTTLE = metadataKeyOf(SkipThrottle());

const ANONYMOUS: Caller = { kind: 'anonymous', reason: 'missing' };

interface IdentifiedCaller {
  caller: Caller;
  /** The budget of the API key's owner or, without a valid API key, of the client address. */
  budget: Budget;
  /** Set if the request was counted for its address before its API key was looked up. */
  reservation: Reservation | undefined;
}

/**
 * Identifies the caller, counts the request, sets the rate limit headers, and rejects requests over
 * the limit. It runs before ApiKeyGuard, so that it counts requests without a valid API key.
 * Requests to `@SkipThrottle()` routes count only if their address is over its limit of lookups,
 * but their responses have the headers. Responses of `@Public()` routes have none. `@Throttle()`
 * has no effect, because limits belong to the owner's plan.
 * docs/decisions/0012 explains why this guard does not extend ThrottlerGuard.
 */
@Injectable()
export class PlanThrottlerGuard implements CanActivate {
  private readonly logger = new Logger(PlanThrottlerGuard.name);
  /** Pending reservations by address and API key: requests that need the same lookup share one. */
  private readonly reservations = new Map<string, Promise<Reservation>>();

  constructor(
    private readonly reflector: Reflector,
    private readonly authenticator: Authenticator,
    private readonly limiter: RateLimiter,
  ) {}

  /** @throws ServiceError rate_limit_exceeded or api_key_banned, with `Retry-After` */
  async canActivate(context: ExecutionContext): Promise<boolean> {
    if (isPublic(context)) return true;
    const request = requestOf(context);
    const identified = await this.identify(request);
    const { caller, budget } = identified;
    request.caller = caller;
    request.callerId = budget.id;
    if (caller.kind === 'key') request.slot?.setAuthenticated();

    const isCounted = isUnverified(caller) || !(isUnavailable(caller) || this.skips(context));
    const decision = await this.decide(request, identified, isCounted);
    const response = responseOf(context);
    for (const [name, value] of limitHeaders(decision)) response.setHeader(name, value);
    if (decision.banBegins) this.logBan(request, decision);
    if (isCounted && !decision.allowed) throw limitRejection(decision);
    return true;
  }

  /** Identifies the caller. Counts a request for its address before it looks up the API key. */
  private async identify(request: Request): Promise<IdentifiedCaller> {
    let reservation: Reservation | undefined;
    const reserveLookup = async (hash: string): Promise<boolean> => {
      const address = this.limiter.addressBudget(request.clientAddress);
      const id = `${address.id} ${hash}`;
      const shared = this.reservations.get(id);
      reservation = await (shared ?? this.reserve(id, address));
      const { mayLookUp } = reservation;
      // Another request made the reservation and records or refunds it. This one is counted after
      // the lookup.
      if (shared && mayLookUp) reservation = undefined;
      return mayLookUp;
    };
    const caller = request.corsPreflight
      ? ANONYMOUS
      : await this.authenticator.identify(request, reserveLookup);
    const budget =
      caller.kind === 'key'
        ? this.limiter.ownerBudget(caller.key)
        : this.limiter.addressBudget(request.clientAddress);
    return { caller, budget, reservation };
  }

  private async reserve(id: string, address: Budget): Promise<Reservation> {
    const pending = this.limiter.reserve(address);
    this.reservations.set(id, pending);
    try {
      return await pending;
    } finally {
      this.reservations.delete(id);
    }
  }

  private decide(
    request: Request,
    { caller, budget, reservation }: IdentifiedCaller,
    isCounted: boolean,
  ): Promise<RateLimitDecision> {
    if (reservation && caller.kind !== 'key') {
      return isCounted
        ? Promise.resolve(this.limiter.record(budget, reservation.decision))
        : this.limiter.refund(budget, reservation.decision);
    }
    if (reservation) {
      // Not awaited: Redis gets both commands in one round trip.
      const address = this.limiter.addressBudget(request.clientAddress);
      void this.limiter.refund(address, reservation.decision);
    }
    return isCounted ? this.limiter.consume(budget) : this.limiter.peek(budget);
  }

  private logBan({ id, caller }: Request, { bannedUntilMs = 0 }: RateLimitDecision): void {
    if (caller?.kind !== 'key') return;
    const { key } = caller;
    this.logger.warn({
      msg: 'API key banned',
      requestId: id,
      ownerId: key.ownerId.toString(),
      keyId: key.id.toString(),
      plan: key.plan,
      bannedUntil: new Date(bannedUntilMs).toISOString(),
    });
  }

  private readonly skips = perRoute((context) => {
    const targets = [context.getHandler(), context.getClass()];
    return this.reflector.getAllAndOverride<boolean | undefined>(SKIP_THROTTLE, targets) === true;
  });
}

/** The API key could not be looked up, so the response is 503. */
function isUnavailable(caller: Caller): boolean {
  return caller.kind === 'anonymous' && caller.reason === 'unavailable';
}

/** The address is over its limit of lookups, so the response is 429 on every route. */
function isUnverified(caller: Caller): boolean {
  return caller.kind === 'anonymous' && caller.reason === 'unverified';
}

function metadataKeyOf(decorate: ClassDecorator): string {
  const target = (): void => undefined;
  decorate(target);
  const [key] = Reflect.getMetadataKeys(target) as string[];
  if (key === undefined) throw new Error('@SkipThrottle() sets no metadata.');
  return key;
}
