import { Injectable } from '@nestjs/common';
import { Readiness } from '../health/readiness.js';
import { ServiceMetrics } from './service-metrics.js';

/** Registers what the readiness probe reports, so that an outage is noticed without requests. */
@Injectable()
export class ReadinessMetrics {
  constructor(metrics: ServiceMetrics, readiness: Readiness) {
    metrics.gauge(
      'pets_ready',
      '1 while this replica is ready for requests (GET /health/ready returns 200), else 0',
      async () => Number((await readiness.report()).status !== 'unavailable'),
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
  }
}
