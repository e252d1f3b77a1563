import {
  type CanActivate,
  type ExecutionContext,
  Injectable,
  Logger,
  RequestMethod,
} from '@nestjs/common';
import { METHOD_METADATA } from '@nestjs/common/internal';
import { loggedCaller } from '../access/authenticator.js';
import { SKIP_THROTTLE } from '../access/public.decorator.js';
import { MINUTE_MS } from '../config/clock.js';
import { requestOf, responseOf, routeMetadata, routeOf } from '../http/request/request-context.js';
import { reportDecision } from './limit-headers.js';
import { Quota } from './limit-storage.js';
import { RateLimiter } from './rate-limiter.js';

// The metadata of `@Throttle()`: a prefix, which the package does not export, and the name of a throttler.
const LIMIT = 'THROTTLER:LIMITdefault';
const TTL = 'THROTTLER:TTLdefault';

/**
 * Counts the request for its caller, sets the rate limit headers, and rejects requests over the
 * limit. It runs before ApiKeyGuard, so that it counts requests without a valid API key.
 * docs/decisions/0001 explains why this guard does not extend ThrottlerGuard.
 */
@Injectable()
export class PlanThrottlerGuard implements CanActivate {
  private readonly logger = new Logger(PlanThrottlerGuard.name);

  constructor(private readonly limiter: RateLimiter) {}

  /** @throws ServiceError rate_limit_exceeded or api_key_banned, with `Retry-After` */
  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = requestOf(context);
    const { caller } = request;
    // The route is `@Public()` and `@SkipThrottle()`. For any other one, ApiKeyGuard requires it.
    if (!caller) return true;
    const budget =
      caller.kind === 'key'
        ? this.limiter.ownerBudget(caller.key)
        : this.limiter.addressBudget(request.clientAddress);
    const isSkipped = routeMetadata(context, SKIP_THROTTLE) === true;
    const isCounted = !(isSkipped || caller.reason === 'unavailable');
    const quota = isCounted && this.routeQuota(context);
    const decision = await this.limiter.storage.decide(
      quota ? { ...budget, quotas: [...budget.quotas, quota] } : budget,
      isCounted ? 'consume' : 'peek',
    );
    const rejection = reportDecision(responseOf(context), decision);
    if (decision.banBegins) {
      const bannedUntil = new Date(decision.bannedUntilMs).toISOString();
      this.logger.warn({ msg: 'API key banned', ...loggedCaller(request), bannedUntil });
    }
    if (isCounted && rejection) throw rejection;
    return true;
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
