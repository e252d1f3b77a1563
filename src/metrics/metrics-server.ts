import { createServer, type Server } from 'node:http';
import type { Registry } from 'prom-client';

/** Returns a server of its own for metrics, so that they are reachable for operators and not for callers. */
export function createMetricsServer(registry: Registry): Server {
  return createServer((request, response) => {
    response.setHeader('X-Content-Type-Options', 'nosniff');
    if (request.method !== 'GET' || request.url?.split('?')[0] !== '/metrics') {
      response.writeHead(404).end();
      return;
    }
    registry.metrics().then(
      (text) => response.writeHead(200, { 'Content-Type': registry.contentType }).end(text),
      () => response.writeHead(500).end(),
    );
  });
}
