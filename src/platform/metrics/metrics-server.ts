import { createServer, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { register } from 'prom-client';

/** Scrapers need one or two. Each uses an open file and memory that the main listener needs. */
const MAX_CONNECTIONS = 32;
/** A scrape takes milliseconds. */
const TIMEOUT_MS = 2_000;

/**
 * Returns the metrics listener, which sends the text that `read` returns. It is separate, so that callers of the API cannot reach it. Each
 * connection serves one request. A new connection over the limit closes the oldest one, so that
 * connections that send or read nothing do not keep a scraper out.
 */
export function createMetricsServer(read: () => Promise<string>): Server {
  const options = {
    requestTimeout: TIMEOUT_MS,
    headersTimeout: TIMEOUT_MS,
    connectionsCheckingInterval: TIMEOUT_MS,
  };
  const server = createServer(options, (request, response) => {
    response.setHeader('Connection', 'close');
    response.setHeader('X-Content-Type-Options', 'nosniff');
    if (request.method !== 'GET' || request.url?.split('?')[0] !== '/metrics') {
      response.writeHead(404).end();
      return;
    }
    read().then(
      (text) => response.writeHead(200, { 'Content-Type': register.contentType }).end(text),
      () => response.writeHead(500).end(),
    );
  });
  // Also closes a connection whose client does not read.
  server.timeout = TIMEOUT_MS;
  const open = new Set<Socket>();
  server.on('connection', (socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    const [oldest] = open;
    if (open.size > MAX_CONNECTIONS) oldest?.destroy();
  });
  return server;
}
