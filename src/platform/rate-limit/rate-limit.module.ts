import { Module } from '@nestjs/common';
import { ThrottlerStorage } from '@nestjs/throttler';
import { Clock } from '../config/clock.js';
import { Settings } from '../config/settings.js';
import { ServiceMetrics } from '../metrics/service-metrics.js';
import { InProcessStorage } from './in-process-storage.js';
import { LimitStorage } from './limit-storage.js';

/** Limits how many requests a caller may send. */
@Module({
  providers: [
    { provide: LimitStorage, useFactory: createStorage, inject: [Settings, Clock] },
    { provide: ThrottlerStorage, useExisting: LimitStorage },
  ],
  exports: [LimitStorage, ThrottlerStorage],
})
export class RateLimitModule {
  constructor(metrics: ServiceMetrics, { circuit }: LimitStorage) {
    if (!circuit) return;
    metrics.add(
      'redis_circuit_open',
      '1 while this process counts requests itself because Redis cannot be used, else 0',
      () => Number(circuit.isOpen),
    );
    metrics.add(
      'redis_failures_total',
      'Commands to Redis that failed, including probes, by reason',
      () => circuit.failures,
      ['reason'],
    );
  }
}

async function createStorage({ redis }: Settings, clock: Clock): Promise<LimitStorage> {
  if (!redis) return new InProcessStorage(clock);
  // Loaded only if needed, because loading the Redis client takes long.
  const { RedisStorage } = await import('./redis/redis-storage.js');
  return new RedisStorage(redis, clock);
}
