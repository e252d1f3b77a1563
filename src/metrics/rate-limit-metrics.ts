import type { RateLimiter } from '../rate-limit/rate-limiter.js';
import type { Circuit } from '../rate-limit/redis/circuit.js';
import type { ObservedMetrics } from './observed-metrics.js';

/** Registers the metrics of the rate limits and, with REDIS_URL, of the counters in Redis. */
export function observeRateLimits(
  metrics: ObservedMetrics,
  { statistics, circuit }: RateLimiter,
): void {
  metrics.counters(
    'pets_limit_decisions_total',
    'Rate limit decisions, by plan and outcome',
    ['plan', 'outcome'],
    () => statistics.entries(),
  );
  metrics.counters('pets_bans_total', 'Bans of API keys that have started, by plan', ['plan'], () =>
    statistics.bans(),
  );
  if (circuit) observeRedis(metrics, circuit);
}

function observeRedis(metrics: ObservedMetrics, circuit: Circuit): void {
  const { statistics } = circuit;
  metrics.gauge(
    'pets_redis_circuit_open',
    '1 while this process counts requests itself because Redis cannot be used, else 0',
    () => Number(circuit.isOpen),
  );
  metrics.gauge(
    'pets_redis_last_reading_age_seconds',
    'Age of the last reply of Redis while the circuit is open, 0 while it is closed',
    () => circuit.lastReplyAgeMs() / 1000,
  );
  metrics.counters(
    'pets_redis_circuit_changes_total',
    'Number of times that the circuit has opened and closed',
    ['state'],
    () => [
      ['open', statistics.opened],
      ['closed', statistics.closed],
    ],
  );
  metrics.counters(
    'pets_redis_failures_total',
    'Commands to Redis that failed, including probes, by reason',
    ['reason'],
    () => Object.entries(statistics.failures),
  );
}
