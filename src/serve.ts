import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Logger } from 'pino';
import { EntityManager } from 'typeorm';
import { createApp } from './app.js';
import { SystemClock } from './config/clock.js';
import type { Settings } from './config/settings.js';
import { isUnavailable } from './database/database-errors.js';
import type { DatabaseLocation } from './database/database-location.js';
import { isSchemaCurrent, migrate, SchemaBusyError } from './database/schema/migrate.js';
import { Demo } from './demo/demo.js';
import { welcomeText } from './demo/welcome.js';
import { Readiness } from './health/readiness.js';
import type { ServiceAdapter } from './http/server/service-adapter.js';
import type { ServiceLog } from './logging/logger.js';
import { createMetricsServer } from './metrics/metrics-server.js';
import { ServiceMetrics } from './metrics/service-metrics.js';
import { StartError } from './errors/start-error.js';

/** How often connections are looked for that wait for nothing, once no new ones are taken. */
const IDLE_CHECK_MS = 100;

/** How long closing the pools may take: less when requests have used up the grace period, but not nothing. */
const CLOSE_LIMIT_MS = { min: 500, max: 3_000 };

/**
 * Connections that wait to be accepted, as far as the system allows (net.core.somaxconn). With Node's default of 511
 * a burst of clients makes the system drop connection attempts, which are repeated seconds later.
 */
const LISTEN_BACKLOG = 4_096;

/**
 * Brings the schema up to date, listens, and returns when the signal came and all requests are answered.
 *
 * @throws StartError where who runs the service can mend what kept it from starting
 */
export async function serve(
  settings: Settings,
  database: DatabaseLocation,
  log: ServiceLog,
  stopSignal: Promise<string>,
): Promise<void> {
  const { logger, output } = log;
  const app = await startApp(settings, database, logger);
  const server = app.getHttpServer();
  const serviceMetrics = app.get(ServiceMetrics);
  serviceMetrics.observeLog(output);
  const metrics = createMetricsServer(serviceMetrics.registry);
  let closeByMs = performance.now() + settings.server.shutdownGraceMs;
  try {
    await requireCurrentSchema(settings, database);
    const demo = database.embedded
      ? new Demo(app.get(EntityManager), settings.database.dataDir)
      : undefined;
    const demoKey = await demo?.prepare();
    if (settings.server.metricsPort !== undefined) {
      await listen(
        metrics,
        'METRICS_PORT',
        settings.server.metricsPort,
        settings.server.metricsHost,
        logger,
      );
    }
    await listen(server, 'PORT', settings.server.port, settings.server.host, logger);
    logger.info(
      { address: addressOf(server), metrics: metrics.listening ? addressOf(metrics) : undefined },
      'listening',
    );
    if (demoKey !== undefined) output.write(`${welcomeText(addressOf(server), demoKey)}\n`);
    const signal = await stopSignal;
    logger.info({ signal }, 'stopping');
    closeByMs =
      performance.now() + settings.server.shutdownDelayMs + settings.server.shutdownGraceMs;
    await drain(app, settings);
  } finally {
    metrics.close();
    metrics.closeAllConnections();
    // Connections to a database that hangs do not close.
    const remainingMs = Math.min(closeByMs - performance.now(), CLOSE_LIMIT_MS.max);
    const closeLimitMs = Math.max(remainingMs, CLOSE_LIMIT_MS.min);
    await Promise.race([app.close(), delay(closeLimitMs, undefined, { ref: false })]);
  }
  logger.info('stopped');
}

/** Returns the application on an up-to-date schema. */
async function startApp(
  settings: Settings,
  database: DatabaseLocation,
  logger: Logger,
): Promise<NestExpressApplication> {
  try {
    if (settings.database.migrateOnStart) {
      const migrations = await migrate(database, settings.database);
      if (migrations.length > 0) logger.info({ migrations }, 'schema brought up to date');
    }
    return await createApp({ settings, clock: new SystemClock(), database }, logger);
  } catch (error) {
    throw databaseRefusal(error) ?? error;
  }
}

/**
 * Runs when the service's connections are open, which keep reverts away: a revert that began before them has ended
 * when this resolves.
 *
 * @throws StartError when a migration is missing
 */
async function requireCurrentSchema(settings: Settings, database: DatabaseLocation): Promise<void> {
  try {
    if (await isSchemaCurrent(database, settings.database)) return;
  } catch (error) {
    throw databaseRefusal(error) ?? error;
  }
  throw new StartError(
    'The schema of the database is not up to date. Run `pets db migrate`, or set MIGRATE_ON_START=true.',
  );
}

/** Returns what to tell of a database that cannot be reached or does not let the service in. */
function databaseRefusal(error: unknown): StartError | undefined {
  if (error instanceof SchemaBusyError) return new StartError(error.message, { cause: error });
  if (!(error instanceof Error) || !isUnavailable(error)) return undefined;
  const [line = ''] = error.message.split('\n');
  return new StartError(`DATABASE_URL: the database cannot be used (${line})`, { cause: error });
}

async function listen(
  server: Server,
  setting: 'PORT' | 'METRICS_PORT',
  port: number,
  host: string,
  logger: Logger,
): Promise<void> {
  server.listen({ port, host, backlog: LISTEN_BACKLOG });
  try {
    await once(server, 'listening');
  } catch (cause) {
    const { code = '' } = cause as NodeJS.ErrnoException;
    const reason = code === 'EADDRINUSE' ? 'it is in use' : code;
    throw new StartError(`${setting}: cannot listen on port ${port} of ${host} (${reason})`, {
      cause,
    });
  }
  // Such as too many open files: it passes, and must not end the process.
  server.on('error', (err) => logger.error({ err }, 'connection not accepted'));
}

/** Lets load balancers turn away, then answers what is in flight. */
async function drain(app: NestExpressApplication, settings: Settings): Promise<void> {
  const adapter = app.getHttpAdapter() as unknown as ServiceAdapter;
  const server = app.getHttpServer();
  app.get(Readiness).beginShutdown();
  adapter.endConnections();
  await delay(settings.server.shutdownDelayMs);
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  const idleCheck = setInterval(() => adapter.closeIdleConnections(), IDLE_CHECK_MS);
  const grace = setTimeout(() => adapter.connections.closeAll(), settings.server.shutdownGraceMs);
  await closed;
  clearInterval(idleCheck);
  clearTimeout(grace);
}

function addressOf(server: Server): string {
  const { address, port, family } = server.address() as AddressInfo;
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}
