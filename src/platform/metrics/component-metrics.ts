import { Injectable } from '@nestjs/common';
import { KeyCache } from '../access/key-cache/key-cache.js';
import { BoundedPool } from '../database/pools/bounded-pool.js';
import { EventDelivery } from '../events/event-delivery.js';
import { Readiness } from '../health/readiness.js';
import { Connections } from '../http/server/connections.js';
import { LimitStorage } from '../rate-limit/limit-storage.js';
import { ServiceMetrics } from './service-metrics.js';

/** Registers the metrics that the components of the service keep. */
@Injectable()
export class ComponentMetrics {
  constructor(
    metrics: ServiceMetrics,
    readiness: Readiness,
    pool: BoundedPool,
    connections: Connections,
    { attempts }: EventDelivery,
    { statistics: keys }: KeyCache,
    { circuit }: LimitStorage,
  ) {
    metrics.add('ready', '1 while this replica is ready for requests, else 0', async () =>
      Number((await readiness.report()).status !== 'unavailable'),
    );
    metrics.add(
      'component_up',
      '1 while the database responds, the database accepts writes, and Redis responds, else 0',
      async () => {
        const { database, redis } = (await readiness.report()).checks;
        return {
          ...(database && {
            database: Number(database !== 'down'),
            database_writes: Number(database === 'up'),
          }),
          ...(redis && { redis: Number(redis === 'up') }),
        };
      },
      ['component'],
    );
    metrics.add('connections', 'Open client connections', () => connections.size);
    metrics.add(
      'event_attempts_total',
      'Attempts to handle an event, by outcome. A parked event has failed in all its attempts',
      () => attempts,
      ['outcome'],
    );
    metrics.add(
      'db_client_connection_count',
      'Connections of the pool, by state',
      () => ({ idle: pool.idleCount, used: pool.totalCount - pool.idleCount }),
      ['state'],
    );
    metrics.add(
      'db_client_connection_pending_requests',
      'Calls that wait for a connection of the pool. A call sends up to eight statements',
      () => pool.waitingCount,
    );
    metrics.add(
      'key_lookups_total',
      'Uses of cached API keys, queries for API keys, and uses of stale API keys while the database was unreachable, by source',
      () => ({ cache: keys.hits, database: keys.queries, stale: keys.stale }),
      ['source'],
    );
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
