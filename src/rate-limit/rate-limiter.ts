import { Injectable } from '@nestjs/common';
import { normalizeIp } from '@nestjs/throttler';
import type { CachedKey } from '../auth/cached-key.js';
import { Settings } from '../config/settings.js';
import type { AddressDecision } from '../http/request/request.js';
import type { Circuit } from './circuit.js';
import { type Field, limitHeaders } from './limit-headers.js';
import { limitRejection } from './limit-rejection.js';
import { type LimitOutcome, LimitStatistics } from './limit-statistics.js';
import { type Budget, LimitStorage, type Reading, type Reservation } from './limit-storage.js';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** Addresses of one IPv6 network of this size are one client. */
const IPV6_PREFIX_BITS = 64;

/** Knows what each caller's budget is, and takes requests from it. */
@Injectable()
export class RateLimiter {
  constructor(
    private readonly storage: LimitStorage,
    private readonly settings: Settings,
  ) {}

  readonly statistics = new LimitStatistics();
  /** What is known of a key does not change: what changes is which of these is known. */
  private readonly ownerBudgets = new WeakMap<CachedKey, Budget>();

  /** Whether Redis is used; undefined where it is not to be. */
  get circuit(): Circuit | undefined {
    return this.storage.circuit;
  }

  /** Counts one request, or refuses it; waits only where budgets are counted elsewhere. */
  take(budget: Budget): Reading | Promise<Reading> {
    const reading = this.storage.take(budget);
    return reading instanceof Promise
      ? reading.then((taken) => this.note(budget, taken))
      : this.note(budget, reading);
  }

  /** Adds a decision to the statistics. Returns it. */
  note({ plan }: Budget, reading: Reading): Reading {
    this.statistics.count(plan, outcomeOf(reading));
    if (reading.banBegins) this.statistics.countBan(plan);
    return reading;
  }

  /** As `take`, for a request that is refused before anything is known of it but its address. */
  async takeForAddress(address: string | undefined): Promise<AddressDecision> {
    const reading = await this.take(this.addressBudget(address));
    return {
      headers: limitHeaders(reading),
      rejection: reading.allowed ? undefined : limitRejection(reading),
    };
  }

  /** Returns the rate limit headers of a client address, for a request that is not counted. */
  async peekForAddress(address: string | undefined): Promise<Field[]> {
    return limitHeaders(await this.peek(this.addressBudget(address)));
  }

  peek(budget: Budget): Reading | Promise<Reading> {
    return this.storage.peek(budget);
  }

  /**
   * Counts a request for its address before its API key is looked up. The statistics do not include it: pass the
   * reading to `note` if it becomes the decision.
   */
  reserve(address: Budget): Reservation | Promise<Reservation> {
    return this.storage.reserve(address);
  }

  /** The budget of a key's owner: shared by all the owner's keys, a ban only by those of its line. */
  ownerBudget(key: CachedKey): Budget {
    let budget = this.ownerBudgets.get(key);
    if (!budget) this.ownerBudgets.set(key, (budget = this.makeOwnerBudget(key)));
    return budget;
  }

  private makeOwnerBudget({ ownerId, plan, limits, firstKeyId, unbanCount }: CachedKey): Budget {
    return {
      kind: 'owner',
      plan,
      id: ownerId.toString(),
      quotas: [
        { name: 'minute', limit: limits.perMinute, lengthMs: MINUTE_MS },
        { name: 'day', limit: limits.perDay, lengthMs: DAY_MS },
      ],
      ban: {
        keyLine: firstKeyId.toString(),
        unbanCount,
        afterRejections: this.settings.limits.banAfterRejections ?? limits.perMinute,
        lengthMs: this.settings.limits.banMs,
      },
    };
  }

  /** The budget of a client address; IPv6 addresses share one by /64. */
  addressBudget(address: string | undefined): Budget {
    return {
      kind: 'address',
      plan: 'anonymous',
      id: address === undefined ? 'unknown' : normalizeIp(address, IPV6_PREFIX_BITS),
      quotas: [
        {
          name: 'minute',
          limit: this.settings.limits.anonymousRequestsPerMinute,
          lengthMs: MINUTE_MS,
        },
      ],
    };
  }
}

function outcomeOf({ allowed, windows, bannedUntilMs }: Reading): LimitOutcome {
  if (allowed) return 'allowed';
  if (bannedUntilMs !== undefined) return 'banned';
  const exhausted = windows.filter(({ used, quota }) => used >= quota.limit);
  return exhausted.at(-1)?.quota.name ?? 'minute';
}
