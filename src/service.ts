import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Logger } from 'pino';
import { createApp } from './app.js';
import { SystemClock } from './config/clock.js';
import { Settings } from './config/settings.js';
import { type DatabaseLocation, locateDatabase } from './database/database-location.js';
import { migrate } from './database/migrate.js';
import { Readiness } from './health/readiness.js';
import { createLogger } from './http/service-logger.js';
import { MetricsServer } from './metrics/metrics-server.js';
import { ServiceMetrics } from './metrics/service-metrics.js';

/** Runs the service until it is told to stop. @throws what kept it from starting, in one line where that can be mended */
export async function runService(): Promise<void> {
  const settings = new Settings();
  const logger = createLogger(settings.logLevel);
  // Asked for before anything is started: a signal during the start stops it afterwards, in order.
  const stopSignal = nextSignal(['SIGTERM', 'SIGINT']);
  const database = await locateDatabase(settings, 'service');
  try {
    await serve(settings, database, logger, stopSignal);
  } finally {
    await database.close();
  }
}

async function serve(
  settings: Settings,
  database: DatabaseLocation,
  logger: Logger,
  stopSignal: Promise<string>,
): Promise<void> {
  if (settings.migrateOnStart) {
    const migrations = await migrate(database, settings);
    if (migrations.length > 0) logger.info({ migrations }, 'schema brought up to date');
  }
  const app = await createApp({ settings, clock: new SystemClock(), database }, logger);
  const metrics = new MetricsServer(app.get(ServiceMetrics).registry);
  try {
    if (settings.metricsPort !== undefined) {
      await metrics.listen(settings.metricsPort, settings.metricsHost);
    }
    await app.listen(settings.port, settings.host);
    logger.info({ address: addressOf(app) }, 'listening');
    const signal = await stopSignal;
    logger.info({ signal }, 'stopping');
    await drain(app, settings);
  } finally {
    await metrics.close();
    await app.close();
  }
  logger.info('stopped');
}

/** Lets load balancers turn away, then answers what is in flight. */
async function drain(app: NestExpressApplication, settings: Settings): Promise<void> {
  app.get(Readiness).beginShutdown();
  await delay(settings.shutdownDelayMs);
  const server = app.getHttpServer() as Server;
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  const grace = setTimeout(() => server.closeAllConnections(), settings.shutdownGraceMs);
  await closed;
  clearTimeout(grace);
}

function addressOf(app: NestExpressApplication): string {
  const { address, port, family } = (app.getHttpServer() as Server).address() as AddressInfo;
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}

function nextSignal(signals: readonly NodeJS.Signals[]): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    // Stays in place: a second signal must not end the process in the middle of its stop.
    for (const signal of signals) process.on(signal, () => resolve(signal));
  });
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
