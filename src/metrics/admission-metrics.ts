import { Counter, Gauge, type Registry } from 'prom-client';
import type { Admission } from '../http/server/admission.js';
import type { Connections } from '../http/server/connections.js';

/** Registers what operators watch of the bounds on connections and requests. */
export function observeAdmission(
  registry: Registry,
  admission: Admission,
  connections: Connections,
): void {
  const registers = [registry];
  const open: Gauge = new Gauge({
    name: 'pets_connections',
    help: 'Client connections that are open',
    registers,
    collect: () => open.set(connections.size),
  });
  new Gauge({
    name: 'pets_connections_max',
    help: 'Client connections that may be open (MAX_CONNECTIONS)',
    registers,
  }).set(connections.bounds.maxConnections);
  const requests: Gauge = new Gauge({
    name: 'pets_requests_in_progress',
    help: 'Requests in progress, without health probes and requests whose body has not arrived',
    registers,
    collect: () => requests.set(admission.requestsInProgress),
  });
  new Gauge({
    name: 'pets_requests_in_progress_max',
    help: 'Requests that may be in progress (MAX_REQUESTS_IN_PROGRESS)',
    registers,
  }).set(admission.bounds.maxRequestsInProgress);
  const shed: Counter = new Counter({
    name: 'pets_shed_total',
    help: 'Requests that got 503 and connections that were closed because a bound was reached, by bound',
    labelNames: ['bound'],
    registers,
    collect: () => {
      shed.reset();
      for (const [bound, count] of Object.entries({ ...admission.shed, ...connections.closed })) {
        shed.labels(bound).inc(count);
      }
    },
  });
}
