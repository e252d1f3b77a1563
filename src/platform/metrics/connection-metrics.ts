import { Injectable } from '@nestjs/common';
import { Connections } from '../http/server/connections.js';
import { ServiceMetrics } from './service-metrics.js';

/** Registers the metrics of client connections. */
@Injectable()
export class ConnectionMetrics {
  constructor(metrics: ServiceMetrics, connections: Connections) {
    metrics.gauge('pets_connections', 'Open client connections', () => connections.size);
    metrics.gauge(
      'pets_connections_max',
      'Maximum number of client connections (MAX_CONNECTIONS)',
      () => connections.maxConnections,
    );
  }
}
