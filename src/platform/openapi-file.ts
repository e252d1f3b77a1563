import 'reflect-metadata';
import type { Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { platformModule, VERSIONING } from './platform.module.js';
import { Settings } from './config/settings.js';
import type { DatabaseLocation } from './database/database-location.js';
import { InterfaceDescription } from './http/openapi/interface-description.js';
import { createLogger } from './logging/logger.js';
import { PublicUrl } from './http/routing/public-url.js';
import { HttpAdapter } from './http/server/http-adapter.js';

/**
 * Returns the content of `openapi.yaml`: the published interface with the default settings, before
 * any operation is removed. Starts nothing: Nest only reads the classes of the modules.
 *
 * @param features the modules whose operations are published
 */
export async function openapiFile(features: readonly Type[]): Promise<string> {
  const settings = new Settings({});
  const clock = { now: () => 0, monotonicMs: () => 0 };
  const database = {} as DatabaseLocation;
  const publicUrl = new PublicUrl();
  const app = await NestFactory.create(
    platformModule(
      { settings, clock, database, features },
      publicUrl,
      createLogger('silent', { write: () => undefined }),
    ),
    new HttpAdapter(publicUrl, settings),
    { preview: true, logger: ['error'], abortOnError: false },
  );
  app.enableVersioning(VERSIONING);
  const description = new InterfaceDescription(settings, clock);
  description.read(app);
  // Tools that read the description from a file need an absolute address.
  return String(description.current()['yaml']).replace('url: /v1', 'url: http://127.0.0.1:3000/v1');
}
