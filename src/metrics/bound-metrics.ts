import type { ArrivingBodies } from '../http/body/arriving-bodies.js';
import type { DownloadLimit } from '../http/openapi/download-limit.js';
import type { Admission } from '../http/server/admission.js';
import type { Connections } from '../http/server/connections.js';
import type { ServiceMetrics } from './service-metrics.js';

/** Registers the metrics of the bounds on connections, requests and downloads. */
export function observeBounds(
  metrics: ServiceMetrics,
  connections: Connections,
  admission: Admission,
  downloads: DownloadLimit,
  bodies: ArrivingBodies,
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
    () => ({ ...admission.shed, ...connections.closed, arriving_bodies: bodies.rejected }),
    ['bound'],
  );
  metrics.counter(
    'pets_docs_downloads_rejected_total',
    'Requests for the documentation that MAX_DOCS_DOWNLOADS rejected',
    () => downloads.rejected,
  );
  metrics.gauge(
    'pets_arriving_bodies',
    'Requests that wait for the rest of their body',
    () => bodies.count,
  );
  metrics.gauge(
    'pets_arriving_body_bytes',
    'Bytes that have arrived of these bodies (MAX_ARRIVING_MEBIBYTES)',
    () => bodies.bytes,
  );
}
