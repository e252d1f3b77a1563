import { type CanActivate, type ExecutionContext, Injectable, Logger } from '@nestjs/common';
import { loggedCaller } from '../access/authenticator.js';
import { SKIP_THROTTLE } from '../access/public.decorator.js';
import { requestOf, responseOf } from '../http/request/request-context.js';
import { RouteMetadata } from '../http/request/route-metadata.js';
import type { Request } from '../http/request/request.js';
import { limitRejection, setLimitHeaders } from './limit-headers.js';
import type { Budget, RateLimitDecision } from './limit-storage.js';
import { RateLimiter } from './rate-limiter.js';
import { routeQuota } from './route-limit.js';

/**
 * Counts the request for its caller, sets the rate limit headers, and rejects requests over the
 * limit. It runs before ApiKeyGuard, so that it counts requests without a valid API key.
 * docs/decisions/0001 explains why this guard does not extend ThrottlerGuard.
 */
@Injectable()
export class PlanThrottlerGuard implements CanActivate {
  private readonly logger = new Logger(PlanThrottlerGuard.name);

  constructor(
    private readonly limiter: RateLimiter,
    private readonly metadata: RouteMetadata,
  ) {}

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
    request.callerId = budget.id;
    const isSkipped = this.metadata.of(context, SKIP_THROTTLE) === true;
    const isCounted = !(isSkipped || caller.reason === 'unavailable');
    const quota = routeQuota(context, this.metadata);
    const decision = await (isCounted
      ? this.limiter.consume(quota ? { ...budget, quotas: [...budget.quotas, quota] } : budget)
      : this.limiter.peek(budget));
    setLimitHeaders(responseOf(context), decision);
    if (decision.banBegins) this.logBan(request, budget, decision);
    if (isCounted && !decision.allowed) throw limitRejection(decision);
    return true;
  }

  private logBan(
    request: Request,
    { plan }: Budget,
    { bannedUntilMs = 0 }: RateLimitDecision,
  ): void {
    const bannedUntil = new Date(bannedUntilMs).toISOString();
    const msg = 'API key banned';
    this.logger.warn({ msg, requestId: request.id, ...loggedCaller(request), plan, bannedUntil });
  }
}
