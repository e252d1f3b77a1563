import { isIP } from 'node:net';
import { type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { ThrottlerGuard, type ThrottlerStorage } from '@nestjs/throttler';
import type { Request, Response } from 'express';
import { Authenticator } from '../auth/authenticator.js';
import type { Caller } from '../auth/caller.js';
import { isPublic } from '../auth/public.decorator.js';
import { perRoute } from '../http/per-route.js';
import { limitHeaders } from './limit-headers.js';
import { limitRefusal } from './limit-refusal.js';
import type { LookUpRefusal } from './limit-storage.js';
import { RateLimiter } from './rate-limiter.js';

/** What `@SkipThrottle()` leaves on a handler or controller. */
const SKIP_THROTTLE = 'THROTTLER:SKIPdefault';

/** The original's storage counts one window of one route a call; a budget here is counted in LimitStorage. */
const NO_THROTTLER_STORAGE: ThrottlerStorage = {
  increment: () => Promise.reject(new Error('PlanThrottlerGuard counts in LimitStorage')),
};

const ANONYMOUS: Caller = { kind: 'anonymous', reason: 'missing' };

/**
 * Takes every request from its caller's budget, in one step for all windows, and tells the budget in
 * the response; stands before ApiKeyGuard, so that a 401 is counted too. `@SkipThrottle()` routes are
 * not counted, but show the fields. (`@Throttle()` has no meaning here: the owner's plan sets budgets.)
 */
@Injectable()
export class PlanThrottlerGuard extends ThrottlerGuard {
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
    const http = context.switchToHttp();
    const request = http.getRequest<Request>();
    // Read before anything is waited for: of a client that has gone nothing tells it.
    const address = clientAddress(request);
    const { caller, refusal } = await this.identify(request, address);
    request.caller = caller;
    const counted = !this.skips(context) && !isUnavailable(caller);
    const budget =
      caller.kind === 'key'
        ? this.limiter.ownerBudget(caller.key)
        : this.limiter.addressBudget(address);
    const reading =
      refusal ?? (await (counted ? this.limiter.take(budget) : this.limiter.peek(budget)));
    const response = http.getResponse<Response>();
    for (const [name, value] of limitHeaders(reading)) response.setHeader(name, value);
    if (refusal || (counted && !reading.allowed)) throw limitRefusal(reading);
    return true;
  }

  /** Finds out who calls, and what refused the look-up of the key, if that was refused. */
  private async identify(
    request: Request,
    address: string | undefined,
  ): Promise<{ caller: Caller; refusal: LookUpRefusal }> {
    if (request.corsPreflight) return { caller: ANONYMOUS, refusal: undefined };
    let refusal: LookUpRefusal;
    const caller = await this.authenticator.identify(request, async () => {
      refusal = await this.limiter.takeLookUp(this.limiter.addressBudget(address));
      return refusal === undefined;
    });
    return { caller, refusal };
  }

  private readonly skips = perRoute((context) => {
    const targets = [context.getHandler(), context.getClass()];
    return this.reflector.getAllAndOverride<boolean | undefined>(SKIP_THROTTLE, targets) === true;
  });
}

function isUnavailable(caller: Caller): boolean {
  return caller.kind === 'anonymous' && caller.reason === 'unavailable';
}

/** The client's address as far as proxies are trusted; what a proxy says that is no address does not count. */
function clientAddress({ ip, socket }: Request): string | undefined {
  return ip !== undefined && isIP(ip) ? ip : socket.remoteAddress;
}
