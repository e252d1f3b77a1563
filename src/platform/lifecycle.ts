import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { Type } from '@nestjs/common';
import type { NestApplicationContext } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Logger } from 'pino';
import { KeyUsage } from './access/usage/key-usage.js';
import { createApp } from './app.js';
import type { ServerSettings } from './config/server-settings.js';
import type { Settings } from './config/settings.js';
import type { Stop } from './config/stop-signals.js';
import { isUnavailable } from './database/database-errors.js';
import type { DatabaseLocation } from './database/database-location.js';
import { makeSchemaCurrent } from './database/schema/migrate.js';
import { StartError } from './errors/start-error.js';
import { Readiness } from './health/readiness.js';
import { DemoKey } from './demo/demo-key.js';
import { addressOf } from './http/request/public-url.js';
import { ResponseHooks } from './http/response/response-hooks.js';
import { ConnectionsMiddleware } from './http/server/connections.middleware.js';
import type { Log } from './logging/logger.js';
import { createMetricsServer } from './metrics/metrics-server.js';
import { ServiceMetrics } from './metrics/service-metrics.js';
import { flushSpans } from './tracing/spans.js';
import { currentBuild } from './config/version.js';

/** Connections to accept. With Node's default of 511, the system drops some of a burst. */
const LISTEN_BACKLOG = 4_096;

/** A database that hangs, or the hook of a feature, can keep close() from ending. */
const CLOSE_LIMIT_MS = 1_500;

/**
 * Starts the service, runs it until it is stopped, completes the requests in progress, and
 * closes everything, including the database.
 *
 * @param root AppModule
 * @throws StartError when an operator can fix what prevents the start; the reason to stop if it
 *   came before the application was created
 */
export async function runService(
  root: Type,
  settings: Settings,
  database: DatabaseLocation,
  log: Log,
  stop: Stop,
): Promise<void> {
  const { logger } = log;
  try {
    await checkListeners(settings.server);
    const schemaCurrent = makeSchemaCurrent(settings, database, logger, stop.signal);
    const creating = createApp(root, { settings, database, logger, schemaCurrent });
    // A migration in progress ends first. A provider of a feature may never be ready.
    const stopped = Promise.all([stop.reason, Promise.race([schemaCurrent, stop.hurried])]).then(
      ([reason]) => Promise.reject(reason as unknown as Error),
    );
    const app = await Promise.race([creating, stopped]).catch(rethrow);
    let reason: string | undefined;
    app.get(ServiceMetrics).observeProcess(log.droppedLines);
    const metrics = createMetricsServer(() => app.get(ServiceMetrics).text(), logger);
    try {
      const address = await openListeners(app, metrics, settings, database, logger);
      // Only a person at a terminal needs the demo API key. A log must not contain it.
      const demoKey = app.get(DemoKey);
      if (database.embedded && process.stdout.isTTY) {
        log.print(`${demoKey.welcomeText(address)}\n`);
      } else if (demoKey.key !== undefined) {
        logger.info({ file: demoKey.file }, 'demo API key');
      }
      reason = await stop.reason;
      logger.info({ signal: reason }, 'stopping');
      await drain(app, settings.server, stop.hurried);
    } finally {
      metrics.close();
      metrics.closeAllConnections();
      // The interface of an application declares no signal, which the shutdown hooks get.
      const context = app as unknown as NestApplicationContext;
      // If the hook of a feature hangs, the hooks after it do not run.
      const usage = app.get(KeyUsage);
      const saved = usage.save();
      // The requests that were drained have spans.
      const flushed = flushSpans().catch((err: unknown) => {
        logger.warn({ err }, 'spans were lost');
      });
      const isClosed = Promise.all([saved, flushed, context.close(reason)]).then(() => true);
      if ((await Promise.race([isClosed, stop.hurried, delay(CLOSE_LIMIT_MS, false)])) === false) {
        const keysWithoutUsage = usage.unsaved;
        logger.warn(
          { limitMs: CLOSE_LIMIT_MS, keysWithoutUsage },
          'not everything was closed in time',
        );
      }
    }
    logger.info('stopped');
  } finally {
    await database.close();
  }
}

/** Throws a StartError for a database that is unreachable or rejects the service. */
function rethrow(error: unknown): never {
  // 3F000: to a role that may not use any schema of its search path, PostgreSQL reports that there is none.
  const lacksRights = /^(?:42501|3F000)$/.test(String((error as { code?: unknown }).code));
  if (!(error instanceof Error) || !(lacksRights || isUnavailable(error))) throw error;
  throw new StartError(`DATABASE_URL: ${error.message.split('\n', 1).join()}`, { cause: error });
}

/** Opens both listeners. Returns the address of the main listener. */
async function openListeners(
  app: NestExpressApplication,
  metrics: Server,
  settings: Settings,
  { description }: DatabaseLocation,
  logger: Logger,
): Promise<string> {
  const { port, host, metricsPort, metricsHost, trustProxy, publicUrl } = settings.server;
  const server = app.getHttpServer();
  if (metricsPort !== undefined) await listen(metrics, 'METRICS_', metricsPort, metricsHost);
  await listen(server, '', port, host);
  // A temporary error, such as too many open files, must not end the process.
  for (const listener of [metrics, server]) {
    listener.on('error', (err: unknown) => logger.error({ err }, 'connection not accepted'));
  }
  const address = addressOf(server);
  logger.info(
    {
      address,
      metrics: metrics.listening ? addressOf(metrics) : undefined,
      ...currentBuild(),
      node: process.version,
      database: description,
      redis: settings.redis?.urls.map((url) => new URL(url).host).join() ?? 'none',
      trustProxy,
      publicUrl,
    },
    'listening',
  );
  return address;
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
    const advice = code === 'EADDRINUSE' ? `. Set another one: ${prefix}PORT=${port + 1}` : '';
    throw new StartError(`${prefix}${setting}: ${message}${advice}`, { cause });
  }
}

/**
 * Reports a port in use, or an address that does not exist, before the schema is migrated.
 *
 * @throws StartError
 */
async function checkListeners({ port, host, metricsPort, metricsHost }: ServerSettings) {
  for (const [prefix, number = 0, address] of [
    ['', port, host],
    ['METRICS_', metricsPort, metricsHost],
  ] as const) {
    const server = createServer();
    if (number !== 0) await listen(server, prefix, number, address);
    server.close();
  }
}

/** Reports not ready for the delay, then completes requests in progress in the grace period. */
async function drain(
  app: NestExpressApplication,
  { shutdownDelayMs, shutdownGraceMs }: ServerSettings,
  hurried: Promise<unknown>,
): Promise<void> {
  app.get(Readiness).beginShutdown();
  app.get(ResponseHooks).endConnections();
  await Promise.race([delay(shutdownDelayMs), hurried]);
  const server = app.getHttpServer();
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  const connections = app.get(ConnectionsMiddleware);
  connections.closeEndless();
  await Promise.race([closed, delay(shutdownGraceMs), hurried]);
  connections.closeAll();
  await closed;
  // Sockets emit 'close' after the server does, and only then are their requests logged.
  while (connections.size > 0) await delay(1);
}
