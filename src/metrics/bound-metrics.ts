import type { Admission } from '../http/server/admission.js';
import type { Connections } from '../http/server/connections.js';
import type { ServiceMetrics } from './service-metrics.js';

/** Registers the metrics of the bounds on connections and requests. */
export function observeBounds(
  metrics: ServiceMetrics,
  connections: Connections,
  admission: Admission,
): void {
  metrics.gauge('pets_connections', 'Open client connections', () => connections.size);
  metrics.gauge(
    'pets_connections_max',
    'Maximum number of client connections (MAX_CONNECTIONS)',
    () => connections.bounds.maxConnections,
  );
  metrics.gauge(
    'pets_requests_in_progress',
    'Requests in progress, without health probes and requests whose body is still arriving',
    () => admission.requestsInProgress,
  );
  metrics.gauge(
    'pets_requests_in_progress_max',
    'Maximum number of requests in progress (MAX_REQUESTS_IN_PROGRESS)',
    () => admission.bounds.maxRequestsInProgress,
  );
  metrics.counter(
    'pets_shed_total',
    'Requests that got 503 and connections that were closed because a bound was reached, by bound',
    () => ({ ...admission.shed, ...connections.closed }),
    ['bound'],
  );
}
