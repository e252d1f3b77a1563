import { createServer, type Server } from 'node:http';
import type { Logger } from 'pino';
import { register } from 'prom-client';

/**
 * As long as Prometheus waits by default, because a process under attack can take seconds to respond. Also
 * closes a connection whose client sends or reads nothing.
 */
const TIMEOUT_MS = 10_000;
/** Scrapers need one or two. The reserve of open files (OWN_FILES) includes these. */
const MAX_CONNECTIONS = 128;
const LOG_INTERVAL_MS = 60_000;

/**
 * Returns the metrics listener, which sends the text that `read` returns. It is separate, so that
 * callers of the API cannot reach it. Each connection serves one request.
 */
export function createMetricsServer(read: () => Promise<string>, logger: Logger): Server {
  const server = createServer((request, response) => {
    response.setHeader('Connection', 'close');
    response.setHeader('X-Content-Type-Options', 'nosniff');
    if (!/^(?:GET|HEAD)$/.test(request.method ?? '') || request.url?.split('?')[0] !== '/metrics') {
      response.writeHead(404).end();
      return;
    }
    read().then(
      (text) => response.writeHead(200, { 'Content-Type': register.contentType }).end(text),
      (err: unknown) => {
        logger.error({ err }, 'metrics cannot be read');
        response.writeHead(500).end();
      },
    );
  });
  server.maxConnections = MAX_CONNECTIONS;
  let loggedAtMs = -Infinity;
  server.on('drop', () => {
    if (performance.now() - loggedAtMs < LOG_INTERVAL_MS) return;
    loggedAtMs = performance.now();
    logger.warn(`Limit reached: ${MAX_CONNECTIONS} connections to METRICS_PORT. More are closed`);
  });
  return server.setTimeout(TIMEOUT_MS);
}
