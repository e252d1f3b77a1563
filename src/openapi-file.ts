import 'reflect-metadata';
import { VersioningType } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { platformModule } from './platform.module.js';
import { Settings } from './config/settings.js';
import { describeInterface } from './http/openapi/description/document.js';
import { PublishedDescription } from './http/openapi/published-description.js';
import { connectionBounds } from './http/server/connection-bounds.js';
import { ServiceAdapter } from './http/server/service-adapter.js';

/**
 * Returns the interface description as `openapi.yaml` holds it: with default settings, before any sunset.
 * Nothing is started for it: of the modules only their classes are read.
 */
export async function openapiFile(): Promise<string> {
  const settings = new Settings({});
  const clock = { now: () => 0 };
  const database = { requests: {}, direct: {}, embedded: false, close: () => Promise.resolve() };
  const app = await NestFactory.create(
    platformModule({ settings, clock, database }),
    new ServiceAdapter('', connectionBounds(settings)),
    { preview: true, logger: ['error'], abortOnError: false },
  );
  app.enableVersioning({ type: VersioningType.URI });
  const description = new PublishedDescription(describeInterface(app, settings.server), clock);
  return description.current().yaml.body.toString();
}
