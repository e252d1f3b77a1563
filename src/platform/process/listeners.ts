import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Logger } from 'pino';
import type { ServerSettings } from '../config/server-settings.js';
import type { Settings } from '../config/settings.js';
import { currentBuild } from '../config/version.js';
import { DemoKey } from '../http/openapi/demo-key.js';
import { StartError } from '../errors/start-error.js';
import { addressOf } from '../http/request/public-url.js';
import type { Log } from '../logging/logger.js';
import { createMetricsServer } from '../metrics/metrics-server.js';
import { ServiceMetrics } from '../metrics/service-metrics.js';
import type { ProcessObjects } from './process.module.js';

/** Connections to accept. With Node's default of 511, the system drops some of a burst. */
const LISTEN_BACKLOG = 4_096;

/**
 * Reports a port in use, or an address that does not exist, before the schema is migrated.
 *
 * @throws StartError that says which setting to change
 */
export async function checkListeners({ port, host, metricsPort, metricsHost }: ServerSettings) {
  for (const [prefix, number = 0, address] of [
    ['', port, host],
    ['METRICS_', metricsPort, metricsHost],
  ] as const) {
    const server = createServer();
    if (number !== 0) await listen(server, prefix, number, address);
    server.close();
  }
}

/**
 * Makes the application listen.
 *
 * @throws StartError that says which setting to change
 */
export async function listenForRequests(
  app: NestExpressApplication,
  { port, host }: ServerSettings,
  { logger }: Log,
): Promise<void> {
  await listen(app.getHttpServer(), '', port, host);
  logFailures(app.getHttpServer(), logger);
}

/**
 * Returns the listener of the metrics. Without METRICS_PORT, it does not listen.
 *
 * @throws StartError that says which setting to change
 */
export async function listenForMetrics(
  app: NestExpressApplication,
  { server: { metricsPort, metricsHost }, product }: Settings,
  { logger, droppedLines }: Log,
): Promise<Server> {
  const metrics = app.get(ServiceMetrics);
  metrics.observeProcess(droppedLines, await currentBuild(product.folder));
  const server = createMetricsServer(() => metrics.text(), logger);
  if (metricsPort !== undefined) await listen(server, 'METRICS_', metricsPort, metricsHost);
  logFailures(server, logger);
  return server;
}

/** Logs that the service listens. Shows the demo API key to a person at a terminal, but not in a log. */
export async function announce(
  app: NestExpressApplication,
  metrics: Server,
  { settings, database }: Pick<ProcessObjects, 'settings' | 'database'>,
  { logger, print }: Log,
): Promise<void> {
  const { trustProxy, publicUrl } = settings.server;
  const address = addressOf(app.getHttpServer());
  logger.info(
    {
      address,
      metrics: metrics.listening ? addressOf(metrics) : undefined,
      ...(await currentBuild(settings.product.folder)),
      node: process.version,
      database: database.description,
      redis: settings.redis?.urls.map((url) => new URL(url).host).join() ?? 'none',
      trustProxy,
      publicUrl,
    },
    'listening',
  );
  const demoKey = app.get(DemoKey);
  if (database.embedded && process.stdout.isTTY) {
    print(`${demoKey.welcomeText(address)}\n`);
  } else if (demoKey.key !== undefined) {
    logger.info({ file: demoKey.file }, 'demo API key');
  }
}

/** Closes a listener with its connections. */
export function closeListener(server: Server): void {
  server.close();
  server.closeAllConnections();
}

/**
 * Makes the server listen.
 *
 * @param prefix of its settings PORT and HOST
 * @throws StartError that says which setting to change
 */
async function listen(server: Server, prefix: string, port: number, host: string): Promise<void> {
  server.listen({ port, host, backlog: LISTEN_BACKLOG });
  try {
    await once(server, 'listening');
  } catch (cause) {
    const { code = '', message } = cause as NodeJS.ErrnoException;
    const setting = ['EACCES', 'EADDRINUSE'].includes(code) ? 'PORT' : 'HOST';
    throw new StartError(`${prefix}${setting}: ${message}`, { cause });
  }
}

/** A temporary error, such as too many open files, must not end the process. */
function logFailures(server: Server, logger: Logger): void {
  server.on('error', (err: unknown) => logger.error({ err }, 'connection not accepted'));
}
