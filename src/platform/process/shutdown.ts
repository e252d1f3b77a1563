import { setTimeout as delay } from 'node:timers/promises';
import type { NestApplicationContext } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Logger } from 'pino';
import { KeyUsage } from '../access/usage/key-usage.js';
import type { ServerSettings } from '../config/server-settings.js';
import { Readiness } from '../health/readiness.js';
import { ResponseObservers } from '../http/response/response-observers.js';
import { ConnectionsMiddleware } from '../http/server/connections.middleware.js';
import { flushSpans } from '../tracing/spans.js';

/** A database that hangs, or the hook of a feature, can keep close() from ending. */
const CLOSE_LIMIT_MS = 1_500;

/**
 * Reports not ready, waits SHUTDOWN_DELAY_SECONDS, and then completes the requests in progress within
 * SHUTDOWN_GRACE_SECONDS. Afterwards, no connection of a client is open, and each request is logged.
 *
 * @param secondSignal ends both waits
 */
export async function drain(
  app: NestExpressApplication,
  { shutdownDelayMs, shutdownGraceMs }: ServerSettings,
  secondSignal: Promise<unknown>,
): Promise<void> {
  app.get(Readiness).beginShutdown();
  app.get(ResponseObservers).closeAfterResponses();
  await Promise.race([delay(shutdownDelayMs), secondSignal]);
  const server = app.getHttpServer();
  // Node.js also closes the idle connections.
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  const connections = app.get(ConnectionsMiddleware);
  connections.closeUnusedAndStreams();
  await Promise.race([closed, delay(shutdownGraceMs), secondSignal]);
  connections.closeAll();
  await closed;
  // Sockets emit 'close' after the server does, and only then are their requests logged.
  while (connections.size > 0) await delay(1);
}

/**
 * Stores the usage of API keys, exports spans, and closes the application, in at most 1.5 seconds.
 *
 * @param reason to stop, for the hooks of features. undefined: the application could not listen
 * @param secondSignal ends the wait
 */
export async function closeApp(
  app: NestExpressApplication,
  reason: string | undefined,
  secondSignal: Promise<unknown>,
  logger: Logger,
): Promise<void> {
  // INestApplication.close() declares no parameter. NestApplicationContext.close(signal) passes it to the hooks.
  const context = app as unknown as NestApplicationContext;
  const usage = app.get(KeyUsage);
  // KeyUsage also saves in its shutdown hook, which Nest does not reach if the hook of a feature hangs.
  const saved = usage.save();
  // The requests that were drained have spans.
  const flushed = flushSpans().catch((err: unknown) => logger.warn({ err }, 'spans were lost'));
  const closed = Promise.all([saved, flushed, context.close(reason)]).then(() => 'closed');
  const result = await Promise.race([closed, secondSignal, delay(CLOSE_LIMIT_MS, 'late')]);
  if (result === 'closed' && usage.unsaved > 0) {
    logger.warn({ keysWithoutUsage: usage.unsaved }, 'the usage of API keys was lost');
  }
  if (result !== 'late') return;
  logger.warn(
    { limitMs: CLOSE_LIMIT_MS, keysWithoutUsage: usage.unsaved },
    'not everything was closed in time',
  );
}
