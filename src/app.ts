import 'reflect-metadata';
import { Logger as NestLog, type Type } from '@nestjs/common';
import { ModulesContainer, NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Logger } from 'pino';
import { AppModule } from './app.module.js';
import { type AppEnvironment, platformModule, VERSIONING } from './platform.module.js';
import { Authenticator, loggedCaller } from './auth/authenticator.js';
import { BoundedPool } from './database/pools/bounded-pool.js';
import { EventsModule } from './events/events.module.js';
import { cors } from './http/routing/cors.js';
import { LinkBase } from './http/routing/link-base.js';
import { serveDocumentation } from './http/openapi/serve-documentation.js';
import { ProtocolErrors } from './http/server/protocol-errors.js';
import { currentRequestIds, requestContext } from './http/request/request-context.js';
import type { SetRateLimitHeaders } from './http/request/request.js';
import { accessLog, observeResponses } from './http/request/access-log.js';
import { responseDeadline } from './http/response/response-deadline.js';
import { Admission } from './http/server/admission.js';
import { ServiceAdapter } from './http/server/service-adapter.js';
import { IdempotencyModule } from './idempotency/idempotency.module.js';
import { NestLogger } from './logging/nest-logger.js';
import { observeBounds } from './metrics/bound-metrics.js';
import { ServiceMetrics } from './metrics/service-metrics.js';
import { RateLimiter } from './rate-limit/rate-limiter.js';

/**
 * Creates the application for the service, its tests and its benchmark. It is initialized but does
 * not listen. Its `close()` closes everything except the database location.
 *
 * @param environment the schema of its database must be up to date
 */
export async function createApp(
  environment: AppEnvironment,
  logger: Logger,
): Promise<NestExpressApplication> {
  const { settings } = environment;
  const linkBase = new LinkBase(settings.server.publicUrl);
  const adapter = new ServiceAdapter(linkBase, settings);
  const app = await NestFactory.create<NestExpressApplication>(
    platformModule(environment, linkBase),
    adapter,
    {
      // JsonBodyGuard reads the body, after the guards that can reject the request.
      bodyParser: false,
      logger: new NestLogger(logger, currentRequestIds),
      // Throws an error at start instead of exiting.
      abortOnError: false,
    },
  );
  try {
    setUp(app, adapter, environment, logger);
    return await app.init();
  } catch (error) {
    await app.close();
    throw error;
  }
}

function setUp(
  app: NestExpressApplication,
  { connections }: ServiceAdapter,
  environment: AppEnvironment,
  logger: Logger,
): void {
  const { settings } = environment;
  app.enableVersioning(VERSIONING);
  app.set('trust proxy', settings.server.trustProxy);

  const server = app.getHttpServer();
  server.once('listening', () => {
    if (app.get(LinkBase).useAddressOf(server)) return;
    logger.warn('PUBLIC_URL is not set: the URLs in Link headers are relative');
  });
  const limiter = app.get(RateLimiter);
  const protocolErrors = new ProtocolErrors(
    (address) => limiter.consumeForAddress(address),
    connections,
    logger,
    settings.logging.clientAddress,
  );
  protocolErrors.attach(server);
  // A shed request is not counted. Its response shows the window state of its client address.
  const setRateLimitHeaders: SetRateLimitHeaders = async (request, response) => {
    const headers = await limiter.peekForAddress(request.clientAddress);
    for (const [name, value] of headers) response.setHeader(name, value);
  };
  const pool = app.get(BoundedPool);
  const authenticator = app.get(Authenticator);
  const { poolSize, replicaUrls } = settings.database;
  const admission = new Admission(settings.bounds, {
    connections,
    pool,
    // Every request in progress may need a place in a connection pool or its queue.
    databasePlaces: (pool.maxWaiting + poolSize) * (1 + replicaUrls.length),
    hasCachedKey: (request) => authenticator.hasCachedKey(request),
    setRateLimitHeaders,
  });
  const metrics = app.get(ServiceMetrics);

  // Each request passes these steps in this order, then the router and the steps of platformModule.
  app.use(requestContext(hasLoggers(app, environment.features ?? [AppModule])));
  app.use(
    observeResponses([
      accessLog(logger, settings.logging.clientAddress, loggedCaller),
      metrics.observeResponse,
    ]),
  );
  if (settings.server.corsOrigins.length > 0) app.use(cors(settings.server.corsOrigins));
  app.use(protocolErrors.rejectInvalid);
  app.use(admission.admit);
  app.use(responseDeadline(settings.database));
  serveDocumentation(app, environment);
  observeBounds(metrics, connections, admission);
}

/** Modules that features import and whose own log lines need no request id. */
const PLATFORM_MODULES = new Set<unknown>([EventsModule, IdempotencyModule]);

/**
 * Returns whether a provider or a controller of these modules, or of modules that they import, has
 * a Nest Logger. Global modules are part of the platform, and their lines belong to no request.
 */
function hasLoggers(app: NestExpressApplication, features: readonly Type[]): boolean {
  const reached = new Set(
    [...app.get(ModulesContainer).values()].filter(({ metatype }) => features.includes(metatype)),
  );
  for (const { imports, providers, controllers } of reached) {
    for (const { instance } of [...providers.values(), ...controllers.values()]) {
      if (Object.values(instance ?? {}).some((value) => value instanceof NestLog)) return true;
    }
    for (const imported of imports) {
      if (!imported.isGlobal && !PLATFORM_MODULES.has(imported.metatype)) reached.add(imported);
    }
  }
  return false;
}
