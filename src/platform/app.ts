import 'reflect-metadata';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  type DynamicModule,
  type NestApplicationOptions,
  type Type,
  VersioningType,
} from '@nestjs/common';
import { type AbstractHttpAdapter, NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Application } from 'express';
import type { Logger } from 'pino';
import type { Settings } from './config/settings.js';
import { InterfaceDescription } from './http/openapi/interface-description.js';
import { currentRequestIds } from './http/request/request-context.middleware.js';
import { ConnectionsMiddleware } from './http/server/connections.middleware.js';
import { NestLogger } from './logging/nest-logger.js';
import { AT_CLOSE, MIDDLEWARE, RESPONSE } from './pipeline.js';
import { type Prepared, withPrepared } from './process.module.js';

type CreateNestApp = (
  root: DynamicModule,
  adapter: AbstractHttpAdapter,
  options: NestApplicationOptions,
) => Promise<NestExpressApplication>;

/**
 * Creates the application. It is initialized but does not listen. Its `close()` closes everything.
 *
 * @param root AppModule
 * @param create NestFactory.create; in tests, `createNestApplication` of a testing module
 */
export async function createApp(
  root: Type,
  prepared: Prepared & Required<Pick<Prepared, 'settings' | 'logger'>>,
  create: CreateNestApp = (...args) => NestFactory.create<NestExpressApplication>(...args),
): Promise<NestExpressApplication> {
  const { settings, logger } = prepared;
  const app = await create(withPrepared(root, prepared), new RESPONSE(settings), {
    // BodyGuard reads the body, after the guards that can reject the request.
    bodyParser: false,
    logger: new NestLogger(logger, currentRequestIds),
    // Throws an error at start instead of exiting.
    abortOnError: false,
    // The order of the declarations would let `toys/:toyId` hide `toys/mine` of another feature.
    routeResolutionStrategy: 'specificity',
    // `shadow` would reject `toys/mine` declared before `toys/:toyId`, which works.
    routeConflictPolicy: { duplicate: 'error' },
  });
  try {
    setUp(app, settings, logger);
    return await app.init();
  } catch (error) {
    await app.close();
    throw error;
  }
}

function setUp(app: NestExpressApplication, settings: Settings, logger: Logger): void {
  // A controller without a version, as the Nest CLI generates it, belongs to v1.
  app.enableVersioning({ type: VersioningType.URI, defaultVersion: '1' });
  const server = app.getHttpServer();
  server.once('listening', () => {
    const express = app.getHttpAdapter().getInstance() as Application;
    const address = addressOf(server);
    const isLoopback = /\/(?:\[::ffff:)?127\.|\/\[::1\]/.test(address);
    if (isLoopback && settings.server.trustProxy === 0) express.publicUrl ||= address;
    if (express.publicUrl) return;
    logger.warn('PUBLIC_URL is not set: the URLs in Link headers are relative');
  });
  for (const step of MIDDLEWARE.map((type) => app.get(type))) app.use(step.use.bind(step));
  app.get(ConnectionsMiddleware).observers = AT_CLOSE.map((observer) => app.get(observer));
  if (settings.server.docs) app.get(InterfaceDescription).read(app);
}

/** Returns the URL that a server listens on. */
export function addressOf(server: Server): string {
  const { address, port, family } = server.address() as AddressInfo;
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}
