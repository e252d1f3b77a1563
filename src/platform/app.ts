import 'reflect-metadata';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  type NestApplicationOptions,
  type NestMiddleware,
  type Type,
  VersioningType,
} from '@nestjs/common';
import { type AbstractHttpAdapter, NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Application, NextFunction, RequestHandler } from 'express';
import type { Logger } from 'pino';
import { type AppOptions, platformModule } from './platform.module.js';
import { InterfaceDescription } from './http/openapi/interface-description.js';
import { currentRequestIds } from './http/request/request-context.js';
import { Connections } from './http/server/connections.js';
import { NestLogger } from './logging/nest-logger.js';
import { AT_CLOSE, MIDDLEWARE, RESPONSE } from './pipeline.js';

type CreateNestApp = (
  module: Type,
  adapter: AbstractHttpAdapter,
  options: NestApplicationOptions,
) => Promise<NestExpressApplication>;

/**
 * Creates the application for the service, its tests and its benchmark. It is initialized but does
 * not listen. Its `close()` closes everything except the database location.
 *
 * @param create NestFactory.create; in tests, `createNestApplication` of a testing module
 */
export async function createApp(
  options: AppOptions,
  logger: Logger,
  create: CreateNestApp = (...args) => NestFactory.create<NestExpressApplication>(...args),
): Promise<NestExpressApplication> {
  const app = await create(platformModule(options, logger), new RESPONSE(options.settings), {
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
    setUp(app, options, logger);
    return await app.init();
  } catch (error) {
    await app.close();
    throw error;
  }
}

function setUp(app: NestExpressApplication, options: AppOptions, logger: Logger): void {
  // A controller without a version, as the Nest CLI generates it, belongs to v1.
  app.enableVersioning({ type: VersioningType.URI, defaultVersion: '1' });
  const server = app.getHttpServer();
  server.once('listening', () => {
    const express = app.getHttpAdapter().getInstance() as Application;
    const address = addressOf(server);
    const isLoopback = /\/(?:\[::ffff:)?127\.|\/\[::1\]/.test(address);
    if (isLoopback && options.settings.server.trustProxy === 0) express.publicUrl ||= address;
    if (express.publicUrl) return;
    logger.warn('PUBLIC_URL is not set: the URLs in Link headers are relative');
  });
  app.use(inOrder(MIDDLEWARE.map((step) => app.get(step))));
  app.get(Connections).observers = AT_CLOSE.map((observer) => app.get(observer));
  if (options.settings.server.docs) app.get(InterfaceDescription).read(app);
}

/** Runs the steps as one middleware, because each layer of the router costs time. */
function inOrder(steps: readonly NestMiddleware[]): RequestHandler {
  return (request, response, next) => {
    let index = 0;
    const nextStep: NextFunction = (error) => {
      const step = steps[index++];
      if (error || !step) return next(error);
      try {
        step.use(request, response, nextStep);
      } catch (cause) {
        next(cause);
      }
    };
    nextStep();
  };
}

/** Returns the URL that a server listens on. */
export function addressOf(server: Server): string {
  const { address, port, family } = server.address() as AddressInfo;
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}
