import { createServer, type Server } from 'node:http';
import type { Registry } from 'prom-client';

/** Scrapers need one or two. Each uses an open file and memory that the main listener needs. */
const MAX_CONNECTIONS = 32;
const REQUEST_TIMEOUT_MS = 10_000;

/** Returns the metrics listener. It is separate, so that callers of the API cannot reach it. */
export function createMetricsServer(registry: Registry): Server {
  const server = createServer((request, response) => {
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
  server.maxConnections = MAX_CONNECTIONS;
  server.requestTimeout = REQUEST_TIMEOUT_MS;
  server.headersTimeout = REQUEST_TIMEOUT_MS;
  // Also closes a connection whose client does not read.
  server.timeout = REQUEST_TIMEOUT_MS;
  return server;
}
