import 'reflect-metadata';
import { Logger as NestLog, type NestMiddleware, type Type } from '@nestjs/common';
import { ApplicationConfig, ModulesContainer, NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { NextFunction, RequestHandler } from 'express';
import type { Logger } from 'pino';
import { type AppOptions, platformModule, VERSIONING } from './platform.module.js';
import { StartError } from './errors/start-error.js';
import { EventsModule } from './events/events.module.js';
import { reach, scopeEnhancers } from './feature-enhancers.js';
import { PublicUrl } from './http/routing/public-url.js';
import { currentRequestIds, RequestContext } from './http/request/request-context.js';
import { Overload } from './overload.js';
import { useAsBaseFilter } from './http/server/base-filter.js';
import './http/server/parse-pipes.js';
import { NestLogger } from './logging/nest-logger.js';
import { DOCUMENTATION, MIDDLEWARE, RESPONSE } from './pipeline.js';

/** What `@WebSocketGateway()` of @nestjs/websockets sets. */
const IS_GATEWAY = 'websockets:is_gateway';

/**
 * Creates the application for the service, its tests and its benchmark. It is initialized but does
 * not listen. Its `close()` closes everything except the database location.
 *
 * @param schemaCurrent resolves when the schema of the database is up to date
 */
export async function createApp(
  options: AppOptions,
  logger: Logger,
  schemaCurrent: Promise<void> = Promise.resolve(),
): Promise<NestExpressApplication> {
  const { settings } = options;
  const publicUrl = new PublicUrl(settings.server.publicUrl);
  const creating = NestFactory.create<NestExpressApplication>(
    platformModule(options, publicUrl, logger),
    new RESPONSE(publicUrl, settings),
    {
      // JsonBodyGuard reads the body, after the guards that can reject the request.
      bodyParser: false,
      logger: new NestLogger(logger, currentRequestIds),
      // Throws an error at start instead of exiting.
      abortOnError: false,
    },
  );
  const [app] = await Promise.all([creating, schemaCurrent]);
  try {
    for (const warning of settings.warnings) logger.warn(warning);
    setUp(app, options, logger);
    return await app.init();
  } catch (error) {
    await app.close();
    throw error;
  }
}

function setUp(app: NestExpressApplication, options: AppOptions, logger: Logger): void {
  app.enableVersioning(VERSIONING);
  rejectGateways(app);
  const server = app.getHttpServer();
  server.once('listening', () => {
    if (app.get(PublicUrl).useAddressOf(server)) return;
    logger.warn('PUBLIC_URL is not set: the URLs in Link headers are relative');
  });
  app.use(inOrder(MIDDLEWARE.map((step) => app.get(step))));
  app.get(RequestContext).identifiesLogs = hasLoggers(app, options.features);
  const modules = [...app.get(ModulesContainer).values()];
  app.get(Overload).setsLimitHeaders = modules.some(({ instance }) => 'configure' in instance);
  DOCUMENTATION(app, options);
  scopeEnhancers(app, options.features);
  // The filter of the service is the only one that is left.
  app.get(ApplicationConfig).getGlobalFilters().forEach(useAsBaseFilter);
}

/** Runs the steps as one middleware, because each layer of the router costs time. */
function inOrder(steps: readonly NestMiddleware[]): RequestHandler {
  return (request, response, next) => {
    const run = (index: number): void => {
      const step = steps[index];
      if (!step) return next();
      const nextStep: NextFunction = (error) => (error ? next(error) : run(index + 1));
      try {
        step.use(request, response, nextStep);
      } catch (error) {
        next(error);
      }
    };
    run(0);
  };
}

/**
 * Nest would open the gateways before any other check of the start.
 *
 * @throws StartError with one line for each WebSocket gateway
 */
function rejectGateways(app: NestExpressApplication): void {
  const modules = [...app.get(ModulesContainer).values()];
  const gateways = modules
    .flatMap(({ providers }) => [...providers.values()])
    .filter(({ metatype }) => metatype && Reflect.hasMetadata(IS_GATEWAY, metatype));
  const problems = gateways.map(
    ({ metatype }) =>
      `${metatype?.name}: the service accepts no WebSocket connections. They would pass no guard, need no API key and have no limit. Send events with @Sse(), or run the gateway as a service of its own.`,
  );
  if (problems.length > 0) throw new StartError(problems.join('\n'));
}

/**
 * Returns whether a provider or a controller of these modules, or of modules that they import, has
 * a Nest Logger. Global modules are part of the platform, and their lines belong to no request.
 */
function hasLoggers(app: NestExpressApplication, features: readonly Type[]): boolean {
  const modules = [...app.get(ModulesContainer).values()];
  const roots = modules.filter(({ metatype }) => features.includes(metatype));
  const ofFeatures = reach(
    roots,
    (imported) => !imported.isGlobal && imported.metatype !== EventsModule,
  );
  for (const { providers, controllers } of ofFeatures) {
    for (const { instance } of [...providers.values(), ...controllers.values()]) {
      if (Object.values(instance ?? {}).some((value) => value instanceof NestLog)) return true;
    }
  }
  return false;
}
