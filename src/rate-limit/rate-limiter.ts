import { Injectable } from '@nestjs/common';
import type { CachedKey } from '../auth/cached-key.js';
import { DAY_MS, MINUTE_MS } from '../config/clock.js';
import { Settings } from '../config/settings.js';
import { clientNetwork } from '../http/request/request-context.js';
import type { AddressDecision } from '../http/request/request.js';
import { type Header, limitHeaders } from './limit-headers.js';
import { limitRejection } from './limit-rejection.js';
import { type LimitOutcome, LimitStatistics } from './limit-statistics.js';
import {
  type Budget,
  LimitStorage,
  type RateLimitDecision,
  type Reservation,
} from './limit-storage.js';
import type { Circuit } from './redis/circuit.js';

/** Counts the requests of callers and decides which are over the limit. */
@Injectable()
export class RateLimiter {
  readonly statistics = new LimitStatistics();
  /** Cached keys are immutable, so each has one budget. */
  private readonly ownerBudgets = new WeakMap<CachedKey, Budget>();

  constructor(
    private readonly storage: LimitStorage,
    private readonly settings: Settings,
  ) {}

  /** Reports whether Redis is used. Undefined if the service runs without Redis. */
  get circuit(): Circuit | undefined {
    return this.storage.circuit;
  }

  /** Counts one request, or rejects it. */
  async consume(budget: Budget): Promise<RateLimitDecision> {
    return this.record(budget, await this.storage.consume(budget));
  }

  /** Returns the decision on a request without counting it. */
  peek(budget: Budget): Promise<RateLimitDecision> {
    return this.storage.peek(budget);
  }

  /**
   * Counts a request for its address before its API key is looked up. The statistics do not include
   * it: call `record` if this decision is the final one, `refund` otherwise.
   */
  reserve(address: Budget): Promise<Reservation> {
    return this.storage.reserve(address);
  }

  /** Removes a reserved request from the budget. Returns the state of the budget. */
  refund(address: Budget, reserved: RateLimitDecision): Promise<RateLimitDecision> {
    return this.storage.refund(address, reserved);
  }

  /** Adds a decision to the statistics. Returns it. */
  record({ plan }: Budget, decision: RateLimitDecision): RateLimitDecision {
    this.statistics.count(plan, outcomeOf(decision));
    if (decision.banBegins) this.statistics.countBan(plan);
    return decision;
  }

  /** Counts a request for its client address, when no caller has been identified. */
  async consumeForAddress(address: string | undefined): Promise<AddressDecision> {
    const decision = await this.consume(this.addressBudget(address));
    return {
      headers: limitHeaders(decision),
      rejection: decision.allowed ? undefined : limitRejection(decision),
    };
  }

  /** Returns the rate limit headers of a client address without counting a request. */
  async peekForAddress(address: string | undefined): Promise<Header[]> {
    return limitHeaders(await this.peek(this.addressBudget(address)));
  }

  /** Returns the budget of an API key's owner, with the ban policy of the API key. */
  ownerBudget(key: CachedKey): Budget {
    let budget = this.ownerBudgets.get(key);
    if (!budget) this.ownerBudgets.set(key, (budget = this.createOwnerBudget(key)));
    return budget;
  }

  private createOwnerBudget({ ownerId, plan, limits, firstKeyId, unbanCount }: CachedKey): Budget {
    return {
      kind: 'owner',
      plan,
      id: ownerId.toString(),
      quotas: [
        { name: 'minute', limit: limits.perMinute, lengthMs: MINUTE_MS },
        { name: 'day', limit: limits.perDay, lengthMs: DAY_MS },
      ],
      ban: {
        lineageId: firstKeyId.toString(),
        unbanCount,
        afterRejections: this.settings.limits.banAfterRejections ?? limits.perMinute,
        lengthMs: this.settings.limits.banMs,
      },
    };
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

function outcomeOf({ allowed, windows, bannedUntilMs }: RateLimitDecision): LimitOutcome {
  if (allowed) return 'allowed';
  if (bannedUntilMs !== undefined) return 'banned';
  const exceeded = windows.filter(({ used, quota }) => used >= quota.limit);
  return exceeded.at(-1)?.quota.name ?? 'minute';
}
