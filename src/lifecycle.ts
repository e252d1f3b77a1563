import type { Server } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Logger } from 'pino';
import { EntityManager } from 'typeorm';
import { createApp } from './app.js';
import { SystemClock } from './config/clock.js';
import type { ServerSettings } from './config/server-settings.js';
import type { Settings } from './config/settings.js';
import { isUnavailable } from './database/database-errors.js';
import type { DatabaseLocation } from './database/database-location.js';
import { isSchemaCurrent, migrate } from './database/schema/migrate.js';
import { Demo } from './demo/demo.js';
import { welcomeText } from './demo/welcome.js';
import { StartError } from './errors/start-error.js';
import { Readiness } from './health/readiness.js';
import { offerDemoKey } from './http/openapi/demo-key.js';
import { addressOf } from './http/routing/link-base.js';
import type { ServiceAdapter } from './http/server/service-adapter.js';
import { listen, type Listener } from './listeners.js';
import type { ServiceLog } from './logging/logger.js';
import { createMetricsServer } from './metrics/metrics-server.js';
import { ServiceMetrics } from './metrics/service-metrics.js';
import { reportMissingKeys, startProperties } from './start-report.js';
import { VERSION } from './version.js';

const IDLE_CHECK_MS = 100;

/** The least time to close the pools and write the log, even if the grace period has ended. */
const MIN_CLOSE_MS = 500;
const MAX_POOL_CLOSE_MS = 3_000;
const FLUSH_MS = { min: 100, max: 1_000 };

interface Service {
  app: NestExpressApplication;
  /** Not listening without METRICS_PORT. */
  metrics: Server;
}

/**
 * Starts the service, runs it until `stopReason` resolves, completes the requests in progress, and
 * closes everything, including the database.
 *
 * @throws StartError when an operator can fix what prevents the start
 */
export async function runService(
  settings: Settings,
  database: DatabaseLocation,
  log: ServiceLog,
  stopReason: Promise<string>,
): Promise<void> {
  const { shutdownDelayMs, shutdownGraceMs } = settings.server;
  let endByMs = Infinity;
  try {
    const service = await start(settings, database, log);
    try {
      await requireCurrentSchema(settings, database);
      const demoKey = await prepareDemo(service, settings, database);
      if (demoKey) offerDemoKey(service.app, demoKey);
      if (demoKey === undefined) await reportMissingKeys(service.app, log.logger);
      const address = await openListeners(service, settings, log.logger);
      if (demoKey !== undefined) log.output.write(`${welcomeText(address, demoKey)}\n`);
      log.logger.info({ signal: await stopReason }, 'stopping');
      endByMs = performance.now() + shutdownDelayMs + shutdownGraceMs;
      await drain(service.app, settings.server);
    } finally {
      endByMs = Math.max(endByMs, performance.now() + MIN_CLOSE_MS);
      await close(service, endByMs - FLUSH_MS.min);
    }
    log.logger.info('stopped');
  } finally {
    await database.close();
    const flushMs = Math.max(endByMs - performance.now(), FLUSH_MS.min);
    await log.output.flush(Math.min(flushMs, FLUSH_MS.max));
  }
}

/** Migrates the schema and creates the application. */
async function start(
  settings: Settings,
  database: DatabaseLocation,
  { logger, output }: ServiceLog,
): Promise<Service> {
  try {
    if (settings.database.migrateOnStart) {
      const migrations = await migrate(database, settings.database);
      if (migrations.length > 0) logger.info({ migrations }, 'schema migrated');
    }
    const app = await createApp({ settings, clock: new SystemClock(), database }, logger);
    const serviceMetrics = app.get(ServiceMetrics);
    serviceMetrics.observeProcess(VERSION, output);
    return { app, metrics: createMetricsServer(serviceMetrics.registry) };
  } catch (error) {
    throw startErrorOf(error) ?? error;
  }
}

/**
 * Checks the schema. Call it while the service's connections are open, because they prevent a
 * revert of a migration. A revert that began earlier has ended when this resolves.
 *
 * @throws StartError when a migration is missing
 */
async function requireCurrentSchema(settings: Settings, database: DatabaseLocation): Promise<void> {
  try {
    if (await isSchemaCurrent(database, settings.database)) return;
  } catch (error) {
    throw startErrorOf(error) ?? error;
  }
  throw new StartError(
    'The schema of the database is not up to date. Run `pets db migrate`, or set MIGRATE_ON_START=true.',
  );
}

/** Returns the error for a database that is unreachable or rejects the service. */
function startErrorOf(error: unknown): StartError | undefined {
  if (!(error instanceof Error) || !isUnavailable(error)) return undefined;
  const [line = ''] = error.message.split('\n');
  return new StartError(`DATABASE_URL: the database cannot be used (${line})`, { cause: error });
}

/** Returns the demo API key, null when none works, or undefined without the embedded database. */
async function prepareDemo(
  { app }: Service,
  settings: Settings,
  database: DatabaseLocation,
): Promise<string | null | undefined> {
  if (!database.embedded) return undefined;
  return new Demo(app.get(EntityManager), settings.database.dataDir).prepare();
}

/** Opens both listeners. Returns the address of the main listener. */
async function openListeners(
  { app, metrics }: Service,
  settings: Settings,
  logger: Logger,
): Promise<string> {
  const { port, host, metricsPort, metricsHost } = settings.server;
  const server = app.getHttpServer();
  const main: Listener = { server, settings: { port: 'PORT', host: 'HOST' }, port, host };
  const metricsSettings = { port: 'METRICS_PORT', host: 'METRICS_HOST' };
  await listen(
    metricsPort === undefined
      ? [main]
      : [
          { server: metrics, settings: metricsSettings, port: metricsPort, host: metricsHost },
          main,
        ],
    logger,
  );
  const address = addressOf(server);
  logger.info(
    {
      address,
      metrics: metrics.listening ? addressOf(metrics) : undefined,
      ...startProperties(settings),
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
  const adapter = app.getHttpAdapter() as unknown as ServiceAdapter;
  app.get(Readiness).beginShutdown();
  adapter.endConnections();
  await delay(shutdownDelayMs);
  const closed = new Promise<void>((resolve) => app.getHttpServer().close(() => resolve()));
  const idleCheck = setInterval(() => adapter.closeIdleConnections(), IDLE_CHECK_MS);
  const grace = setTimeout(() => adapter.connections.closeAll(), shutdownGraceMs);
  await closed;
  clearInterval(idleCheck);
  clearTimeout(grace);
}

/**
 * Closes the metrics listener and the pools.
 *
 * @param closeByMs when to return at the latest, on the clock of `performance.now()`, because
 *   connections to a database that hangs do not close
 */
async function close({ app, metrics }: Service, closeByMs: number): Promise<void> {
  metrics.close();
  metrics.closeAllConnections();
  const limitMs = Math.min(closeByMs - performance.now(), MAX_POOL_CLOSE_MS);
  await Promise.race([app.close(), delay(limitMs, undefined, { ref: false })]);
}
