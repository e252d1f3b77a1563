import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { NestExpressApplication } from '@nestjs/platform-express';
import express, { type Express, type RequestHandler } from 'express';
import type { Clock } from '../../config/clock.js';
import type { Settings } from '../../config/settings.js';
import { PUBLIC_MESSAGES } from '../../errors/public-messages.js';
import { ServiceError } from '../../errors/service-error.js';
import { entityTag } from '../response/send-json.js';
import { demoKeyFor } from './demo-key.js';
import { contentSecurityPolicy, docsPage } from './docs-page.js';
import { PublishedDescription, textSender } from './published-description.js';

/** The files of the page. The build has compressed their content with gzip. */
const COMPRESSED_FILES = fileURLToPath(new URL('./compressed/docs', import.meta.url));

/**
 * Serves the interface description and Swagger UI, or 404 with `DOCS=false`. Call it before the
 * application is initialized: Express then matches these routes before the controllers. They do not
 * pass the guards, so they need no API key and are not counted.
 */
export function serveDocumentation(
  app: NestExpressApplication,
  { settings, clock }: { settings: Settings; clock: Clock },
): void {
  const service: Express = app.getHttpAdapter().getInstance();
  if (!settings.server.docs) {
    service.all(/^\/(?:docs(?:\/.*)?|openapi\.(?:json|yaml))?$/, () => {
      throw new ServiceError('route_not_found', PUBLIC_MESSAGES.routeNotFound);
    });
    return;
  }
  const { publicUrl = 'http://localhost' } = settings.server;
  const docsPath = `${new URL(publicUrl).pathname.replace(/\/$/, '')}/docs`;
  const description = new PublishedDescription(app, settings.server, clock);
  const routes: [paths: string[], handler: RequestHandler][] = [
    [['/', '/docs/'], (_request, response) => response.redirect(docsPath)],
    [['/docs'], sendPage(settings)],
    [['/openapi.json'], (...message) => description.current().json(...message)],
    [['/openapi.yaml'], (...message) => description.current().yaml(...message)],
    ...readdirSync(COMPRESSED_FILES).map((name): [string[], RequestHandler] => [
      [`/docs/${name}`],
      fileSender(name),
    ]),
  ];
  const router = express.Router({ caseSensitive: true, strict: true });
  for (const [paths, handler] of routes) router.get(paths, handler);
  // One comparison for all paths, because every request to the API makes it.
  const allPaths = routes.flatMap(([paths]) => paths).join('|');
  service.get(new RegExp(`^(?:${allPaths.replaceAll('.', String.raw`\.`)})$`), router);
}

function sendPage({ server }: Settings): RequestHandler {
  const page = textSender('text/html; charset=utf-8', docsPage());
  const policy = contentSecurityPolicy(server);
  return (request, response, next) => {
    response.setHeader('Content-Security-Policy', policy);
    response.setHeader('Referrer-Policy', 'no-referrer');
    const demoKey = demoKeyFor(request, server);
    if (demoKey === undefined) return page(request, response, next);
    response.type('html').setHeader('Cache-Control', 'no-store').send(docsPage(demoKey));
  };
}

/**
 * Returns a handler that sends a file from memory: an open file for each download would let slow
 * readers use up the open files. It declares gzip also to a client that does not accept it, because
 * only browsers load these files.
 */
function fileSender(name: string): RequestHandler {
  const content = readFileSync(join(COMPRESSED_FILES, name));
  const tag = entityTag(content);
  return (_request, response) => {
    response.setHeader('Content-Encoding', 'gzip').setHeader('Cache-Control', 'no-cache');
    response.type(extname(name)).setHeader('ETag', tag).send(content);
  };
}
