import { Module } from '@nestjs/common';
import { Clock } from '../config/clock.js';
import { Settings } from '../config/settings.js';
import { InProcessStorage } from './in-process-storage.js';
import { LimitStorage } from './limit-storage.js';
import { RateLimiter } from './rate-limiter.js';

/** How often callers may call. */
@Module({
  providers: [
    RateLimiter,
    { provide: LimitStorage, useFactory: createStorage, inject: [Settings, Clock] },
  ],
  exports: [RateLimiter],
})
export class RateLimitModule {}

/** Counters are shared by replicas where there is a Redis. */
async function createStorage({ redis, limits }: Settings, clock: Clock): Promise<LimitStorage> {
  const lookupLimit = { perSecond: limits.keyLookupsPerSecond };
  if (!redis) return new InProcessStorage(clock, lookupLimit);
  // Its client is loaded only where it is of use: that takes longer than all of the limits.
  const { RedisStorage } = await import('./redis/redis-storage.js');
  return new RedisStorage(redis, clock, lookupLimit);
}
