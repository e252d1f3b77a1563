import type { BoundedPool } from '../database/pools/bounded-pool.js';
import type { LookupPools } from '../database/pools/lookup-pools.js';
import type { Standbys } from '../database/standbys/standbys.js';
import type { ObservedMetrics } from './observed-metrics.js';

/** Registers the metrics of the connection pool that serves requests. */
export function observePool(metrics: ObservedMetrics, pool: BoundedPool): void {
  metrics.gauges(
    'db_client_connection_count',
    'Connections of the pool, by state',
    ['state'],
    () => [
      ['idle', pool.idleCount],
      ['used', pool.totalCount - pool.idleCount],
    ],
  );
  metrics.gauge(
    'db_client_connection_max',
    'Maximum number of connections of the pool',
    () => pool.options.max,
  );
  metrics.gauge(
    'db_client_connection_pending_requests',
    'Requests that wait for a connection of the pool',
    () => pool.waitingCount,
  );
  metrics.gauge(
    'pets_database_queue_size',
    'Maximum number of requests that wait for a connection of the pool',
    () => pool.maxWaiting,
  );
  metrics.counter(
    'pets_database_queue_rejected_total',
    'Requests that got 503 because the queue for a connection of the pool was full',
    () => pool.rejected,
  );
}

/** Registers the metrics of the connection pools for lookups of API keys. */
export function observeLookups(metrics: ObservedMetrics, { cached, uncached }: LookupPools): void {
  metrics.gauges(
    'pets_key_lookups_pending',
    'Lookups that wait for a connection, by whether the API key is in the cache',
    ['key'],
    () => [
      ['cached', cached.waitingCount],
      ['uncached', uncached.waitingCount],
    ],
  );
  metrics.counters(
    'pets_key_lookups_rejected_total',
    'Lookups that failed because the queue was full, by whether the API key is in the cache',
    ['key'],
    () => [
      ['cached', cached.rejected],
      ['uncached', uncached.rejected],
    ],
  );
}

/** Registers the metrics of the standbys. An index labels them: an address has a password. */
export function observeStandbys(metrics: ObservedMetrics, standbys: Standbys): void {
  metrics.gauges(
    'pets_standby_in_service',
    '1 while the standby at this index of DATABASE_REPLICA_URLS is in rotation, else 0',
    ['standby'],
    () => standbys.inRotation.map((isInRotation, index) => [String(index), Number(isInRotation)]),
  );
  metrics.counters(
    'pets_reads_total',
    'Reads of animals, by the server that returned the result: a standby or the primary',
    ['source'],
    () => Object.entries(standbys.statistics),
  );
}
