import { type ExecutionContext, Injectable, Logger, RequestMethod } from '@nestjs/common';
import { METHOD_METADATA } from '@nestjs/common/internal';
import {
  InjectThrottlerOptions,
  InjectThrottlerStorage,
  ThrottlerGuard,
  type ThrottlerModuleOptions,
  type ThrottlerRequest,
} from '@nestjs/throttler';
import { Authenticator, loggedCaller } from '../access/authenticator.js';
import { KeyUsage } from '../access/usage/key-usage.js';
import { MINUTE_MS } from '../config/clock.js';
import { Settings } from '../config/settings.js';
import type { ServiceError } from '../errors/service-error.js';
import type { Identification, KeyState } from '../http/request/caller.js';
import { ignoreInput } from '../http/request/input.js';
import { IsPublic } from '../http/request/public.decorator.js';
import { clientNetwork } from '../http/request/address.js';
import { routeMetadata, RouteReflector } from '../http/request/handler.js';
import {
  hasBody,
  isHealthProbe,
  requestOf,
  responseOf,
  routeOf,
  type Request,
  type Response,
} from '../http/request/request.js';
import { type Budget, LimitStorage, ownerBudget, Quota } from './limit-storage.js';
import { reportDecision } from './rate-limit-headers.js';

/** The limit of a route without `@Throttle()`. */
const NO_LIMIT = Infinity;

/** The only throttler of the platform. `@Throttle()` sets its limit for a route. */
export const THROTTLERS = [{ name: 'default', limit: NO_LIMIT, ttl: MINUTE_MS }];

/**
 * Counts the request for its caller, sets the rate limit headers, and rejects requests over the
 * limit. It runs before ApiKeyGuard, so that it counts requests without a valid API key.
 */
@Injectable()
export class PlanThrottlerGuard extends ThrottlerGuard {
  declare protected readonly reflector: RouteReflector;
  private readonly log = new Logger(PlanThrottlerGuard.name);
  private readonly addressQuotas: readonly Quota[];
  /** A refresh of the cache replaces the state of an API key, and so its budget. */
  private readonly budgets = new WeakMap<KeyState, Budget>();

  constructor(
    @InjectThrottlerOptions() options: ThrottlerModuleOptions,
    @InjectThrottlerStorage() private readonly storage: LimitStorage,
    private readonly authenticator: Authenticator,
    private readonly usage: KeyUsage,
    private readonly settings: Settings,
  ) {
    super(options, storage, new RouteReflector());
    const { anonymousRequestsPerMinute } = settings.limits;
    this.addressQuotas = [new Quota('minute', anonymousRequestsPerMinute, MINUTE_MS)];
  }

  /** @throws ServiceError rate_limit_exceeded or api_key_banned, with `Retry-After` */
  override async canActivate(context: ExecutionContext): Promise<boolean> {
    if (routeMetadata(context, IsPublic)) return super.canActivate(context);
    const request = requestOf(context);
    // ApiKeyGuard rejects the request, but only after the parser has read the body.
    if (hasBody(request) && !this.authenticator.mayHaveValidKey(request)) ignoreInput(request);
    // Before the functions of `@Throttle()` run, which may use the caller. ApiKeyGuard needs it in any case.
    const caller = await this.authenticator.identify(request);
    // A route without decorators of the throttler: `super.canActivate` would read six of them for each request,
    // and wait five times (docs/performance.md).
    if (this.reflector.hasFoundNothing(context)) {
      return this.consume(context, this.budgetOf(this.idOf(caller, request), caller));
    }
    return super.canActivate(context);
  }

  /** Says who calls: the owner of a valid API key, or else the address. */
  protected override async getTracker(request: Request): Promise<string> {
    const { caller = await this.authenticator.identify(request) } = request.state;
    return this.idOf(caller, request);
  }

  /** Decides over all windows in one step: those of the plan and, with `@Throttle()`, that of the route. */
  protected override async handleRequest(route: ThrottlerRequest): Promise<boolean> {
    const { context, limit, ttl, getTracker } = route;
    const request = requestOf(context);
    const id = await getTracker(request, context);
    const budget = this.budgetOf(id, request.state.caller);
    if (limit === NO_LIMIT) return this.consume(context, budget);
    return this.consume(context, withQuota(budget, new Quota(routeId(context), limit, ttl)));
  }

  private async consume(context: ExecutionContext, budget: Budget): Promise<boolean> {
    const request = requestOf(context);
    const { caller } = request.state;
    // The owner is unknown, or its plan has no limits, so no budget can count the request.
    if (caller?.reason === 'unavailable') return true;
    const decision = await this.storage.decide(budget, 'consume');
    const rejection = reportDecision(responseOf(context), decision);
    if (decision.banBegins) {
      const bannedUntil = new Date(decision.bannedUntilMs).toISOString();
      this.log.warn({ msg: 'API key banned', ...loggedCaller(request.state), bannedUntil });
    }
    if (caller?.kind === 'key') this.usage.count(caller.key, rejection !== undefined);
    if (rejection) throw rejection;
    return true;
  }

  /** Counts a request for an address, and sets the headers. Returns the 429 if it is over the limit. */
  async consumeForAddress(
    address: string | undefined,
    response: Response,
  ): Promise<ServiceError | undefined> {
    const budget = this.budgetOf(clientNetwork(address));
    return reportDecision(response, await this.storage.decide(budget, 'consume'));
  }

  /** Sets the headers of a request that was not counted, from the memory of this process. */
  beforeHead(request: Request, response: Response): void {
    if (response.hasHeader('ratelimit-policy') || isHealthProbe(request)) return;
    const { caller } = request.state;
    const budget = this.budgetOf(this.idOf(caller, request), caller);
    reportDecision(response, this.storage.peekLocal(budget));
  }

  private idOf(caller: Identification | undefined, { state }: Request): string {
    // IPv6 addresses of one /64 share a budget.
    return caller?.kind === 'key'
      ? caller.key.ownerId.toString()
      : clientNetwork(state.clientAddress);
  }

  private budgetOf(id: string, caller?: Identification): Budget {
    if (caller?.kind !== 'key') return { kind: 'address', id, quotas: this.addressQuotas };
    let budget = this.budgets.get(caller.key);
    if (!budget) this.budgets.set(caller.key, (budget = this.ownerBudgetOf(caller.key)));
    return budget;
  }

  private ownerBudgetOf(key: KeyState): Budget {
    const { banAfterRejections = key.limits.perMinute, banMs } = this.settings.limits;
    return ownerBudget(key, { afterRejections: banAfterRejections, lengthMs: banMs });
  }
}

/** Returns the budget with the window of a route in addition. */
function withQuota(budget: Budget, quota: Quota): Budget {
  return { ...budget, quotas: budget.quotas.concat(quota) };
}

/** Two handlers cannot have the same method and path, so each has a window of its own. */
function routeId(context: ExecutionContext): string {
  const method = RequestMethod[routeMetadata<RequestMethod>(context, METHOD_METADATA) ?? 0];
  return `route:${method} ${routeOf(requestOf(context))}`;
}
