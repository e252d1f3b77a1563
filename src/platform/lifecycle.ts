import type { Server } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { Type } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Logger } from 'pino';
import { EntityManager } from 'typeorm';
import { createApp } from './app.js';
import { ApiKey } from './access/api-key.entity.js';
import { SystemClock } from './config/clock.js';
import type { ServerSettings } from './config/server-settings.js';
import type { Settings } from './config/settings.js';
import { isUnavailable } from './database/database-errors.js';
import type { DatabaseLocation } from './database/database-location.js';
import { databaseTarget } from './database/database-target.js';
import { isSchemaCurrent, migrate } from './database/schema/migrate.js';
import { StartError } from './errors/start-error.js';
import { Readiness } from './health/readiness.js';
import { offerDemoKey } from './http/openapi/demo-key.js';
import { addressOf } from './http/routing/public-url.js';
import { Connections } from './http/server/connections.js';
import type { HttpAdapter } from './http/server/http-adapter.js';
import { listen } from './listeners.js';
import type { Log } from './logging/logger.js';
import { createMetricsServer } from './metrics/metrics-server.js';
import { ServiceMetrics } from './metrics/service-metrics.js';
import { flushSpans } from './tracing/spans.js';
import { VERSION } from './config/version.js';

const IDLE_CHECK_MS = 100;

/** The least time to close the pools and write the log, even if the grace period has ended. */
const MIN_CLOSE_MS = 500;
const MAX_POOL_CLOSE_MS = 3_000;
const FLUSH_MS = { min: 100, max: 1_000 };

/** What the process runs on the platform. */
export interface Application {
  /** The modules of the features. */
  features: readonly Type[];
  /** The demo data of an embedded database. */
  demo: {
    /** Adds the data once. Returns the demo API key, or null if it is not valid. */
    add(manager: EntityManager, dataDir: string): Promise<string | null>;
    /** Returns the text that is printed when the service listens. */
    welcomeText(address: string, key: string | null): string;
  };
}

/**
 * Starts the service, runs it until `stopReason` resolves, completes the requests in progress, and
 * closes everything, including the database.
 *
 * @throws StartError when an operator can fix what prevents the start
 */
export async function runService(
  { features, demo }: Application,
  settings: Settings,
  database: DatabaseLocation,
  log: Log,
  stopReason: Promise<string>,
): Promise<void> {
  const { shutdownDelayMs, shutdownGraceMs } = settings.server;
  let endByMs = Infinity;
  try {
    const app = await start(features, settings, database, log).catch(rethrow);
    const metrics = createMetricsServer(app.get(ServiceMetrics).registry);
    try {
      // Null when no demo API key is valid, undefined without the embedded database.
      const demoKey = database.embedded
        ? await demo.add(app.get(EntityManager), settings.database.dataDir)
        : undefined;
      if (demoKey) offerDemoKey(app, demoKey);
      if (demoKey === undefined) await reportMissingKeys(app, log.logger);
      const address = await openListeners(app, metrics, settings, log.logger);
      if (demoKey !== undefined) log.output.write(`${demo.welcomeText(address, demoKey)}\n`);
      log.logger.info({ signal: await stopReason }, 'stopping');
      endByMs = performance.now() + shutdownDelayMs + shutdownGraceMs;
      await drain(app, settings.server);
    } finally {
      endByMs = Math.max(endByMs, performance.now() + MIN_CLOSE_MS);
      await close(app, metrics, endByMs - FLUSH_MS.min);
    }
    log.logger.info('stopped');
  } finally {
    await database.close();
    const flushMs = Math.max(endByMs - performance.now(), FLUSH_MS.min);
    await log.output.flush(Math.min(flushMs, FLUSH_MS.max));
  }
}

/** Creates the application, and brings the schema up to date at the same time. */
async function start(
  features: readonly Type[],
  settings: Settings,
  database: DatabaseLocation,
  { logger, output }: Log,
): Promise<NestExpressApplication> {
  const app = await createApp(
    { settings, clock: new SystemClock(), database, features },
    logger,
    makeSchemaCurrent(settings, database, logger),
  );
  app.get(ServiceMetrics).observeProcess(VERSION, output);
  return app;
}

/** Migrates the schema, or checks that no migration is missing. */
async function makeSchemaCurrent(
  settings: Settings,
  database: DatabaseLocation,
  logger: Logger,
): Promise<void> {
  if (settings.database.migrateOnStart) {
    const migrations = await migrate(database, settings.database);
    if (migrations.length > 0) logger.info({ migrations }, 'schema migrated');
  } else if (!(await isSchemaCurrent(database, settings.database))) {
    throw new StartError(
      'The schema of the database is not up to date. Run `pets db migrate`, or set MIGRATE_ON_START=true.',
    );
  }
}

/** @throws StartError for a database that is unreachable or rejects the service */
function rethrow(error: unknown): never {
  if (!(error instanceof Error) || !isUnavailable(error)) throw error;
  const [line = ''] = error.message.split('\n');
  throw new StartError(`DATABASE_URL: ${line}`, { cause: error });
}

/** Logs the command for the first API key if there is none. */
async function reportMissingKeys(app: NestExpressApplication, logger: Logger): Promise<void> {
  try {
    if (await app.get(EntityManager).exists(ApiKey)) return;
    logger.info({ command: 'pets keys issue --owner NAME --plan free' }, 'no API keys yet');
  } catch (err) {
    // The service can serve requests as soon as the database is available again.
    logger.debug({ err }, 'API keys not counted');
  }
}

/** Opens both listeners. Returns the address of the main listener. */
async function openListeners(
  app: NestExpressApplication,
  metrics: Server,
  settings: Settings,
  logger: Logger,
): Promise<string> {
  const { port, host, metricsPort, metricsHost } = settings.server;
  const server = app.getHttpServer();
  if (metricsPort !== undefined) {
    const address = { port: metricsPort, host: metricsHost };
    await listen({ server: metrics, prefix: 'METRICS_', ...address }, logger);
  }
  await listen({ server, prefix: '', port, host }, logger);
  const address = addressOf(server);
  logger.info(
    {
      address,
      metrics: metrics.listening ? addressOf(metrics) : undefined,
      version: VERSION,
      node: process.version,
      database: databaseTarget(settings.database).description,
      redis: settings.redis !== undefined,
      trustProxy: settings.server.trustProxy,
    },
    'listening',
  );
  return address;
}

/** Reports not ready for the delay, then completes requests in progress in the grace period. */
async function drain(
  app: NestExpressApplication,
  { shutdownDelayMs, shutdownGraceMs }: ServerSettings,
): Promise<void> {
  const adapter = app.getHttpAdapter() as unknown as HttpAdapter;
  app.get(Readiness).beginShutdown();
  adapter.endConnections();
  await delay(shutdownDelayMs);
  const closed = new Promise<void>((resolve) => app.getHttpServer().close(() => resolve()));
  const connections = app.get(Connections);
  const idleCheck = setInterval(() => {
    adapter.closeIdleConnections();
    connections.closeUnused();
  }, IDLE_CHECK_MS);
  const grace = setTimeout(() => connections.closeAll(), shutdownGraceMs);
  await closed;
  clearInterval(idleCheck);
  clearTimeout(grace);
}

/**
 * Closes the metrics listener and the pools, and exports the last spans. Connections to a database that hangs do not close.
 *
 * @param closeByMs when to return at the latest, on the clock of `performance.now()`
 */
async function close(
  app: NestExpressApplication,
  metrics: Server,
  closeByMs: number,
): Promise<void> {
  metrics.close();
  metrics.closeAllConnections();
  const limitMs = Math.min(closeByMs - performance.now(), MAX_POOL_CLOSE_MS);
  const flushed = flushSpans().catch(() => undefined);
  const closed = Promise.all([app.close(), flushed]);
  await Promise.race([closed, delay(limitMs, undefined, { ref: false })]);
}
