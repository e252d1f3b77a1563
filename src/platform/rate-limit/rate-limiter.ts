import { Injectable } from '@nestjs/common';
import type { KeyState } from '../access/caller.js';
import { MINUTE_MS } from '../config/clock.js';
import { Settings } from '../config/settings.js';
import type { ServiceError } from '../errors/service-error.js';
import { clientNetwork } from '../http/request/request-context.js';
import type { Response } from '../http/request/request.js';
import { reportDecision } from './limit-headers.js';
import {
  type Budget,
  type LimitMode,
  LimitStorage,
  ownerBudget,
  Quota,
  type RateLimitDecision,
} from './limit-storage.js';

/** The budgets of callers, and the decisions on their requests. */
@Injectable()
export class RateLimiter {
  /** The number of decisions, by plan and outcome. */
  readonly decisions: Record<string, Record<string, number>> = {};
  /** Cached keys are immutable, so each has one budget. */
  private readonly ownerBudgets = new WeakMap<KeyState, Budget>();
  private readonly addressQuotas: readonly Quota[];

  constructor(
    private readonly storage: LimitStorage,
    private readonly settings: Settings,
  ) {
    const { anonymousRequestsPerMinute } = settings.limits;
    this.addressQuotas = [new Quota('minute', anonymousRequestsPerMinute, MINUTE_MS)];
  }

  /** Decides on a request. The decision itself is counted if the mode is `consume`. */
  async decide(budget: Budget, mode: LimitMode): Promise<RateLimitDecision> {
    const decision = await this.storage.decide(budget, mode);
    if (mode === 'peek') return decision;
    const counts = (this.decisions[budget.plan] ??= {});
    const outcome = outcomeOf(decision);
    counts[outcome] = (counts[outcome] ?? 0) + 1;
    return decision;
  }

  /** Counts a request for an address, and sets the headers. Returns the 429 if it is over the limit. */
  async consumeForAddress(
    address: string | undefined,
    response: Response,
  ): Promise<ServiceError | undefined> {
    return reportDecision(response, await this.decide(this.addressBudget(address), 'consume'));
  }

  /** Sets the headers for an address without a count, from the memory of this process. */
  reportForAddress(address: string | undefined, response: Response): void {
    reportDecision(response, this.storage.peekLocal(this.addressBudget(address)));
  }

  /** Returns the budget of an API key's owner, with the ban policy of the API key. */
  ownerBudget(key: KeyState): Budget {
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
    const { addressQuotas: quotas } = this;
    return { kind: 'address', plan: 'anonymous', id: clientNetwork(address), quotas };
  }
}

function outcomeOf({ allowed, windows, bannedUntilMs }: RateLimitDecision): string {
  if (allowed) return 'allowed';
  if (bannedUntilMs > 0) return 'banned';
  return windows.findLast(({ used, quota }) => used >= quota.limit)?.quota.name ?? 'minute';
}
