import { type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { ThrottlerGuard, type ThrottlerStorage } from '@nestjs/throttler';
import type { Request } from 'express';
import { Authenticator } from '../auth/authenticator.js';
import type { Caller } from '../auth/caller.js';
import { isPublic } from '../auth/public.decorator.js';
import { perRoute, requestOf, responseOf } from '../http/request/http-context.js';
import { limitHeaders } from './limit-headers.js';
import { limitRejection } from './limit-rejection.js';
import type { Budget, Reading, Reservation } from './limit-storage.js';
import { RateLimiter } from './rate-limiter.js';

/** What `@SkipThrottle()` leaves on a handler or controller. */
const SKIP_THROTTLE = 'THROTTLER:SKIPdefault';

/** The original's storage counts one window of one route a call; a budget here is counted in LimitStorage. */
const NO_THROTTLER_STORAGE: ThrottlerStorage = {
  increment: () => Promise.reject(new Error('PlanThrottlerGuard counts in LimitStorage')),
};

const ANONYMOUS: Caller = { kind: 'anonymous', reason: 'missing' };

const ADMITTED = Promise.resolve(true);

/** Who calls, and the budget that the request is counted in. */
interface Identified {
  caller: Caller;
  budget: Budget;
  /** The request as it was counted for its address before the API key was looked up. */
  reservation?: Reservation | undefined;
}

/**
 * Takes every request from its caller's budget, in one step for all windows, and tells the budget in
 * the response; stands before ApiKeyGuard, so that a 401 is counted too. `@SkipThrottle()` routes are
 * not counted, but show the fields. (`@Throttle()` has no meaning here: the owner's plan sets budgets.)
 */
@Injectable()
export class PlanThrottlerGuard extends ThrottlerGuard {
  /** Reservations that wait for Redis, by address and API key: requests that need the same lookup share it. */
  private readonly reservations = new Map<string, Promise<Reservation>>();

  // Each named for injection: the original's constructor does so, and a subclass inherits its names.
  constructor(
    @Inject(Reflector) reflector: Reflector,
    @Inject(Authenticator) private readonly authenticator: Authenticator,
    @Inject(RateLimiter) private readonly limiter: RateLimiter,
  ) {
    super([], NO_THROTTLER_STORAGE, reflector);
  }

  /** Nothing to set up: the original reads its throttlers here, of which there are none. */
  override onModuleInit(): Promise<void> {
    return Promise.resolve();
  }

  /** @throws ServiceError rate_limit_exceeded or api_key_banned, with Retry-After */
  override async canActivate(context: ExecutionContext): Promise<boolean> {
    if (isPublic(context)) return true;
    return this.take(context, await this.identify(requestOf(context)));
  }

  private take(context: ExecutionContext, identified: Identified): Promise<boolean> {
    const { caller, budget, reservation } = identified;
    const request = requestOf(context);
    request.caller = caller;
    request.callerId = budget.id;
    if (caller.kind === 'key') request.slot?.setAuthenticated();
    if (reservation) return this.settle(context, identified, reservation);
    const counted = !this.skips(context) && !isUnavailable(caller);
    const reading = counted ? this.limiter.take(budget) : this.limiter.peek(budget);
    return reading instanceof Promise
      ? reading.then((taken) => this.tell(context, taken, counted))
      : this.tell(context, reading, counted);
  }

  /** Sets the rate limit headers. Rejects a request over its limit, unless it is one that is not counted. */
  private tell(context: ExecutionContext, reading: Reading, refuses: boolean): Promise<boolean> {
    const response = responseOf(context);
    for (const [name, value] of limitHeaders(reading)) response.setHeader(name, value);
    if (reading.banBegins) this.logBan(requestOf(context), reading);
    // Not thrown: V8 would walk the stack for each, 4 % of a refusal.
    return refuses && !reading.allowed ? Promise.reject(limitRejection(reading)) : ADMITTED;
  }

  private logBan({ id, caller }: Request, { bannedUntilMs = 0 }: Reading): void {
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

  /** Decides on a request that was counted for its address, now that its caller is known. */
  private async settle(
    context: ExecutionContext,
    { caller, budget }: Identified,
    reservation: Reservation,
  ): Promise<boolean> {
    const { reading, mayLookUp } = reservation;
    if (caller.kind === 'key') {
      // Sent together, so that the caller waits for one round trip to Redis.
      void reservation.giveBack();
      return this.take(context, { caller, budget });
    }
    // Without a lookup, nobody knows whether the API key is valid: 429 even where nothing is counted.
    if (!mayLookUp) return this.tell(context, this.limiter.note(budget, reading), true);
    if (this.skips(context) || isUnavailable(caller)) {
      return this.tell(context, await reservation.giveBack(), false);
    }
    return this.tell(context, this.limiter.note(budget, reading), true);
  }

  /** Identifies the caller. A request that needs a lookup is counted for its address before that. */
  private async identify(request: Request): Promise<Identified> {
    let reservation: Reservation | undefined;
    const reserveLookup = async (hash: string): Promise<boolean> => {
      const address = this.limiter.addressBudget(request.clientAddress);
      const id = `${address.id} ${hash}`;
      const shared = this.reservations.get(id);
      reservation = await (shared ?? this.reserve(id, address));
      const { mayLookUp } = reservation;
      // The lookup is the other request's. This one is counted when its caller is known.
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

  private reserve(id: string, address: Budget): Promise<Reservation> {
    const made = Promise.resolve(this.limiter.reserve(address));
    this.reservations.set(id, made);
    return made.finally(() => this.reservations.delete(id));
  }

  private readonly skips = perRoute((context) => {
    const targets = [context.getHandler(), context.getClass()];
    return this.reflector.getAllAndOverride<boolean | undefined>(SKIP_THROTTLE, targets) === true;
  });
}

function isUnavailable(caller: Caller): boolean {
  return caller.kind === 'anonymous' && caller.reason === 'unavailable';
}
