import { Injectable } from '@nestjs/common';
import type { ThrottlerStorage } from '@nestjs/throttler';
import { LimitStorage, Quota } from './limit-storage.js';

/** Counts for a `ThrottlerGuard` of a feature. With Redis, it counts over all replicas. */
@Injectable()
export class FeatureThrottlerStorage implements ThrottlerStorage {
  constructor(private readonly storage: LimitStorage) {}

  /** @throws Error for a `blockDuration`: the end of the window ends a rejection */
  async increment(key: string, ttl: number, limit: number, blockDuration: number) {
    if (blockDuration !== ttl) throw new Error('The throttler must not have a blockDuration.');
    const quotas = [new Quota('throttler', limit, ttl)];
    // When memory is short, it may be evicted as an address.
    const budget = { kind: 'address', id: `throttler:${key}`, quotas } as const;
    const { allowed, nowMs, windows } = await this.storage.decide(budget, 'consume');
    const [{ used, endsAtMs } = { used: 0, endsAtMs: nowMs }] = windows;
    const seconds = Math.ceil((endsAtMs - nowMs) / 1000);
    const rejected = { isBlocked: !allowed, timeToBlockExpire: allowed ? 0 : seconds };
    return { totalHits: used + Number(!allowed), timeToExpire: seconds, ...rejected };
  }
}
