import {
  type CanActivate,
  type ExecutionContext,
  Injectable,
  Logger,
  type OnModuleInit,
  RequestMethod,
} from '@nestjs/common';
import { METHOD_METADATA } from '@nestjs/common/internal';
import { DiscoveryService } from '@nestjs/core';
import { loggedCaller } from '../access/authenticator.js';
import type { KeyState } from '../access/caller.js';
import { KeyUsage } from '../access/usage/key-usage.js';
import { SKIP_THROTTLE } from '../http/request/public.decorator.js';
import { MINUTE_MS } from '../config/clock.js';
import { Settings } from '../config/settings.js';
import { ERRORS } from '../errors/catalogue.js';
import { ServiceError } from '../errors/service-error.js';
import { StartError } from '../errors/start-error.js';
import {
  clientNetwork,
  decoratedTargets,
  isHealthProbe,
  requestOf,
  responseOf,
  routeMetadata,
  routeOf,
} from '../http/request/request-context.js';
import type { Request, Response } from '../http/request/request.js';
import {
  type Budget,
  LimitStorage,
  ownerBudget,
  Quota,
  type QuotaState,
  type RateLimitDecision,
} from './limit-storage.js';

// The metadata of `@Throttle()`: a prefix that the package does not export, and a throttler's name.
const LIMIT = 'THROTTLER:LIMITdefault';
const TTL = 'THROTTLER:TTLdefault';

/**
 * Counts the request for its caller, sets the rate limit headers, and rejects requests over the
 * limit. It runs before ApiKeyGuard, so that it counts requests without a valid API key.
 * docs/decisions/0001 explains why this guard does not extend ThrottlerGuard.
 */
@Injectable()
export class PlanThrottlerGuard implements CanActivate, OnModuleInit {
  private readonly logger = new Logger(PlanThrottlerGuard.name);
  private readonly addressQuotas: readonly Quota[];

  constructor(
    private readonly storage: LimitStorage,
    private readonly usage: KeyUsage,
    private readonly settings: Settings,
    private readonly discovery: DiscoveryService,
  ) {
    const { anonymousRequestsPerMinute } = settings.limits;
    this.addressQuotas = [new Quota('minute', anonymousRequestsPerMinute, MINUTE_MS)];
  }

  /** @throws StartError for an option of `@Throttle()` or `@SkipThrottle()` that this guard ignores */
  onModuleInit(): void {
    for (const [name, target] of decoratedTargets(this.discovery))
      for (const key of (Reflect.getMetadataKeys(target) as unknown[]).map(String)) {
        const type = typeof Reflect.getMetadata(key, target);
        const isRead = [LIMIT, TTL, SKIP_THROTTLE].includes(key) && type !== 'function';
        if (isRead || type === 'undefined' || !key.startsWith('THROTTLER:')) continue;
        const rule = "@Throttle() and @SkipThrottle() accept only 'default', and numbers";
        throw new StartError(`${name}: ${rule} (${key.slice(10)})`);
      }
  }

  /** @throws ServiceError rate_limit_exceeded or api_key_banned, with `Retry-After` */
  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const request = requestOf(context);
    const { caller } = request;
    // Without a caller, IdentifyCallerGuard has skipped the route: it is `@Public()` and
    // `@SkipThrottle()`.
    if (!caller) return true;
    const budget =
      caller.kind === 'key'
        ? this.ownerBudget(caller.key)
        : this.addressBudget(request.clientAddress);
    const isSkipped = routeMetadata(context, SKIP_THROTTLE) === true;
    const isCounted = !(isSkipped || caller.reason === 'unavailable');
    const quota = isCounted && this.routeQuota(context);
    const decision = this.storage.decide(
      quota ? { ...budget, quotas: [...budget.quotas, quota] } : budget,
      isCounted ? 'consume' : 'peek',
    );
    const apply = (made: RateLimitDecision): true => {
      const rejection = reportDecision(responseOf(context), made);
      if (made.banBegins) {
        const bannedUntil = new Date(made.bannedUntilMs).toISOString();
        this.logger.warn({ msg: 'API key banned', ...loggedCaller(request), bannedUntil });
      }
      if (!isCounted) return true;
      if (caller.kind === 'key') this.usage.count(caller.key, rejection !== undefined);
      if (rejection) throw rejection;
      return true;
    };
    // Without Redis, there is nothing to wait for (docs/performance.md).
    return decision instanceof Promise ? decision.then(apply) : apply(decision);
  }

  /** Counts a request for an address, and sets the headers. Returns the 429 if it is over the limit. */
  async consumeForAddress(
    address: string | undefined,
    response: Response,
  ): Promise<ServiceError | undefined> {
    const budget = this.addressBudget(address);
    return reportDecision(response, await this.storage.decide(budget, 'consume'));
  }

  /** Sets the headers from the memory of this process if this guard did not run: middleware responds. */
  beforeHead(request: Request, response: Response): void {
    if (response.hasHeader('x-ratelimit-limit') || isHealthProbe(request)) return;
    reportDecision(response, this.storage.peekLocal(this.addressBudget(request.clientAddress)));
  }

  private ownerBudget(key: KeyState): Budget {
    const { banAfterRejections = key.limits.perMinute, banMs } = this.settings.limits;
    return ownerBudget(key, { afterRejections: banAfterRejections, lengthMs: banMs });
  }

  /** IPv6 addresses of one /64 share a budget. */
  private addressBudget(address: string | undefined): Budget {
    const { addressQuotas: quotas } = this;
    return { kind: 'address', id: clientNetwork(address), quotas };
  }

  /** Returns the limit of `@Throttle()`. The handler's decorator takes precedence. */
  private routeQuota(context: ExecutionContext): Quota | undefined {
    const limit = routeMetadata<number>(context, LIMIT);
    if (limit === undefined) return undefined;
    const method = RequestMethod[routeMetadata<RequestMethod>(context, METHOD_METADATA) ?? 0];
    // Two handlers cannot have the same method and path, so each has a window of its own.
    const id = `route:${method} ${routeOf(requestOf(context))}`;
    return new Quota(id, limit, routeMetadata<number>(context, TTL) ?? MINUTE_MS);
  }
}

/**
 * Sets the headers `X-RateLimit-*` for one window (`Reset` is a Unix time in seconds), and those of
 * draft-ietf-httpapi-ratelimit-headers for all windows.
 *
 * @returns the 429 of a decision that rejects the request, with `Retry-After`
 */
function reportDecision(response: Response, decision: RateLimitDecision): ServiceError | undefined {
  const { allowed, nowMs, bannedUntilMs } = decision;
  const windows = reportedWindows(decision);
  const window = windows.reduce(moreRestrictive);
  // During a ban, the headers show the per-minute limit, which is the first quota.
  const { quota } = bannedUntilMs > 0 ? (windows[0] ?? window) : window;
  let [policies, states] = ['', ''];
  for (const state of windows) {
    const separator = policies && ', ';
    const seconds = wholeSeconds(state.endsAtMs - nowMs);
    policies += separator + state.quota.policy;
    states += `${separator}"${state.quota.name}";r=${remainingIn(state)};t=${seconds}`;
  }
  response.setHeader('X-RateLimit-Limit', quota.limit);
  response.setHeader('X-RateLimit-Remaining', remainingIn(window));
  response.setHeader('X-RateLimit-Reset', wholeSeconds(window.endsAtMs));
  response.setHeader('RateLimit-Policy', policies);
  response.setHeader('RateLimit', states);
  if (allowed) return undefined;
  const seconds = wholeSeconds(window.endsAtMs - nowMs);
  const advice = `Try again in ${seconds} ${seconds === 1 ? 'second' : 'seconds'}.`;
  const options = { headers: { 'Retry-After': String(seconds) } };
  return bannedUntilMs > 0
    ? new ServiceError('api_key_banned', `${ERRORS.api_key_banned.when} ${advice}`, options)
    : new ServiceError('rate_limit_exceeded', `${limitOf(quota)} ${advice}`, options);
}

function limitOf({ name, limit, lengthMs }: Quota): string {
  const window = name === 'route' ? `${lengthMs / 1000} seconds for this operation` : name;
  return `Over the limit of ${limit} ${limit === 1 ? 'request' : 'requests'} per ${window}.`;
}

/** During a ban, every window has 0 remaining and ends no earlier than the ban. */
function reportedWindows({ windows, bannedUntilMs }: RateLimitDecision): readonly QuotaState[] {
  if (bannedUntilMs === 0) return windows;
  return windows.map(({ quota, used, endsAtMs }) => ({
    quota,
    used: quota.limit,
    endsAtMs: used < quota.limit ? bannedUntilMs : Math.max(endsAtMs, bannedUntilMs),
  }));
}

/** Returns the window with fewer requests remaining or, on a tie, the one that ends last. */
function moreRestrictive(a: QuotaState, b: QuotaState): QuotaState {
  const difference = remainingIn(a) - remainingIn(b) || b.endsAtMs - a.endsAtMs;
  return difference <= 0 ? a : b;
}

function remainingIn({ quota, used }: QuotaState): number {
  return Math.max(0, quota.limit - used);
}

function wholeSeconds(ms: number): number {
  return Math.ceil(ms / 1000);
}
