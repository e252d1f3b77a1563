import { Injectable } from '@nestjs/common';
import { BoundedPool } from '../database/pools/bounded-pool.js';
import { EventDelivery } from '../events/event-delivery.js';
import { Readiness } from '../health/readiness.js';
import { Connections } from '../http/server/connections.js';
import { ServiceMetrics } from './service-metrics.js';

/** Registers the metrics of readiness, client connections, connection pools and events. */
@Injectable()
export class ResourceMetrics {
  constructor(
    metrics: ServiceMetrics,
    readiness: Readiness,
    pool: BoundedPool,
    connections: Connections,
    { attempts }: EventDelivery,
  ) {
    metrics.gauge('pets_ready', '1 while this replica is ready for requests, else 0', async () =>
      Number((await readiness.report()).status !== 'unavailable'),
    );
    metrics.gauge(
      'pets_component_up',
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
    metrics.gauge('pets_connections', 'Open client connections', () => connections.size);
    metrics.gauge(
      'pets_connections_max',
      'Maximum number of client connections (MAX_CONNECTIONS)',
      () => connections.maxConnections,
    );
    metrics.counter(
      'pets_event_attempts_total',
      'Attempts to handle an event, by outcome. A parked event has failed in all its attempts',
      () => attempts,
      ['outcome'],
    );
    metrics.gauge(
      'db_client_connection_count',
      'Connections of the pool, by state',
      () => ({ idle: pool.idleCount, used: pool.totalCount - pool.idleCount }),
      ['state'],
    );
    metrics.gauge(
      'db_client_connection_pending_requests',
      'Calls that wait for a connection of the pool. A call sends up to eight statements',
      () => pool.waitingCount,
    );
  }
}
