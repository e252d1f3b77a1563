import { Injectable } from '@nestjs/common';
import { KeyCache } from '../access/key-cache/key-cache.js';
import { LimitStorage } from '../rate-limit/limit-storage.js';
import { RateLimiter } from '../rate-limit/rate-limiter.js';
import { ServiceMetrics } from './service-metrics.js';

/** Registers the metrics of API keys, rate limits and, with REDIS_URL, the counters in Redis. */
@Injectable()
export class CallerMetrics {
  constructor(
    metrics: ServiceMetrics,
    { statistics: keys }: KeyCache,
    { decisions }: RateLimiter,
    { circuit }: LimitStorage,
  ) {
    metrics.counter(
      'pets_key_lookups_total',
      'Uses of cached API keys, queries for API keys, and uses of stale API keys while the database was unreachable, by source',
      () => ({ cache: keys.hits, database: keys.queries, stale: keys.stale }),
      ['source'],
    );
    metrics.counter(
      'pets_limit_decisions_total',
      'Rate limit decisions, by plan and outcome',
      () =>
        Object.fromEntries(
          Object.entries(decisions).flatMap(([plan, outcomes]) =>
            Object.entries(outcomes).map(([outcome, count]) => [`${plan} ${outcome}`, count]),
          ),
        ),
      ['plan', 'outcome'],
    );
    if (!circuit) return;
    metrics.gauge(
      'pets_redis_circuit_open',
      '1 while this process counts requests itself because Redis cannot be used, else 0',
      () => Number(circuit.isOpen),
    );
    metrics.counter(
      'pets_redis_failures_total',
      'Commands to Redis that failed, including probes, by reason',
      () => circuit.failures,
      ['reason'],
    );
  }
}
