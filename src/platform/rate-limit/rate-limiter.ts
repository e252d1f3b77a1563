import { Injectable } from '@nestjs/common';
import type { CachedKey } from '../access/cached-key.js';
import { MINUTE_MS } from '../config/clock.js';
import { Settings } from '../config/settings.js';
import type { ServiceError } from '../errors/service-error.js';
import { clientNetwork } from '../http/request/request-context.js';
import { AddressLimits } from '../http/request/address-limits.js';
import type { Response } from '../http/request/request.js';
import { limitRejection, setLimitHeaders } from './limit-headers.js';
import { type Budget, LimitStorage, ownerBudget, type RateLimitDecision } from './limit-storage.js';

/** The budgets of callers, and the decisions on their requests. */
@Injectable()
export class RateLimiter extends AddressLimits {
  /** The number of decisions by plan and outcome, as in "free allowed". */
  readonly decisions = new Map<string, number>();
  /** Cached keys are immutable, so each has one budget. */
  private readonly ownerBudgets = new WeakMap<CachedKey, Budget>();

  constructor(
    private readonly storage: LimitStorage,
    private readonly settings: Settings,
  ) {
    super();
  }

  /** Counts one request, or rejects it. */
  async consume(budget: Budget): Promise<RateLimitDecision> {
    const decision = await this.storage.decide(budget, 'consume');
    const name = `${budget.plan} ${outcomeOf(decision)}`;
    this.decisions.set(name, (this.decisions.get(name) ?? 0) + 1);
    return decision;
  }

  peek(budget: Budget): Promise<RateLimitDecision> {
    return this.storage.decide(budget, 'peek');
  }

  override async consumeForAddress(
    address: string | undefined,
    response: Response,
  ): Promise<ServiceError | undefined> {
    const decision = await this.consume(this.addressBudget(address));
    setLimitHeaders(response, decision);
    return decision.allowed ? undefined : limitRejection(decision);
  }

  override reportForAddress(address: string | undefined, response: Response): void {
    setLimitHeaders(response, this.storage.peekLocal(this.addressBudget(address)));
  }

  /** Returns the budget of an API key's owner, with the ban policy of the API key. */
  ownerBudget(key: CachedKey): Budget {
    let budget = this.ownerBudgets.get(key);
    if (!budget) {
      const { banAfterRejections = key.limits.perMinute, banMs } = this.settings.limits;
      budget = ownerBudget(key, { afterRejections: banAfterRejections, lengthMs: banMs });
      this.ownerBudgets.set(key, budget);
    }
    return budget;
  }

  /** Returns the budget of a client address. IPv6 addresses of one /64 share a budget. */
  addressBudget(address: string | undefined): Budget {
    const limit = this.settings.limits.anonymousRequestsPerMinute;
    return {
      kind: 'address',
      plan: 'anonymous',
      id: clientNetwork(address),
      quotas: [{ name: 'minute', limit, lengthMs: MINUTE_MS }],
    };
  }
}

function outcomeOf({ allowed, windows, bannedUntilMs }: RateLimitDecision): string {
  if (allowed) return 'allowed';
  if (bannedUntilMs !== undefined) return 'banned';
  return windows.findLast(({ used, quota }) => used >= quota.limit)?.quota.name ?? 'minute';
}
