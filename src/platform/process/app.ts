import 'reflect-metadata';
import {
  type DynamicModule,
  type NestApplicationOptions,
  type Type,
  VersioningType,
} from '@nestjs/common';
import { type AbstractHttpAdapter, NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { NextFunction, Request, Response } from 'express';
import { isUnavailable } from '../database/database-errors.js';
import { StartError } from '../errors/start-error.js';
import {
  DocumentationController,
  NoDocumentationController,
} from '../http/openapi/documentation.controller.js';
import { OpenApiDescription } from '../http/openapi/openapi-description.js';
import { PublicUrl } from '../http/request/public-url.js';
import { currentRequestIds } from '../http/request/request-context.middleware.js';
import { DEFAULT_VERSION } from '../http/routing/api-versions.js';
import { MiddlewareChain } from '../http/routing/middleware-chain.js';
import { HttpAdapter } from '../http/server/http-adapter.js';
import { NestLogger } from '../logging/nest-logger.js';
import { type ProcessObjects, withObjects } from './process.module.js';

type CreateNestApp = (
  root: DynamicModule,
  adapter: AbstractHttpAdapter,
  options: NestApplicationOptions,
) => Promise<NestExpressApplication>;

/**
 * Creates the application. It is initialized but does not listen. Its `close()` closes everything but the
 * objects of the process.
 *
 * @param root AppModule
 * @param create NestFactory.create; in tests, `createNestApplication` of a testing module
 * @throws StartError if the database is unreachable or rejects the service
 */
export async function createApp(
  root: Type,
  objects: ProcessObjects,
  create: CreateNestApp = (...args) => NestFactory.create<NestExpressApplication>(...args),
): Promise<NestExpressApplication> {
  const { settings, logger } = objects;
  const adapter = new HttpAdapter(settings, (type) => app.get(type));
  const docs = settings.server.docs ? DocumentationController : NoDocumentationController;
  const module = withObjects(root, objects, docs);
  const creating = create(module, adapter, {
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
  const app: NestExpressApplication = await creating.catch((error: unknown) =>
    throwStartError(error, objects.database.embedded ? 'DATA_DIR' : 'DATABASE_URL'),
  );
  try {
    const middleware = app.get(MiddlewareChain);
    app.enableVersioning({ type: VersioningType.URI, defaultVersion: DEFAULT_VERSION });
    app.getHttpServer().once('listening', () => {
      if (app.get(PublicUrl).value) return;
      logger.warn('PUBLIC_URL is not set: the URLs in Link headers are relative');
    });
    app.use((request: Request, response: Response, next: NextFunction) =>
      middleware.use(request, response, next),
    );
    if (settings.server.docs) app.get(OpenApiDescription).read(app);
    return await app.init();
  } catch (error) {
    await app.close();
    throw error;
  }
}

/** Throws a StartError for a database that is unreachable or rejects the service. */
function throwStartError(error: unknown, setting: string): never {
  // 3F000: to a role that may not use any schema of its search path, PostgreSQL reports that there is none.
  const lacksRights = /^(?:42501|3F000)$/.test(String((error as { code?: unknown }).code));
  if (!(error instanceof Error) || !(lacksRights || isUnavailable(error))) throw error;
  throw new StartError(`${setting}: ${error.message.split('\n', 1).join()}`, { cause: error });
}
