import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { NestExpressApplication } from '@nestjs/platform-express';
import expressModule, { type Express, type RequestHandler } from 'express';
import type { Clock } from '../../config/clock.js';
import type { Settings } from '../../config/settings.js';
import { PUBLIC_MESSAGES } from '../../errors/public-messages.js';
import { ServiceError } from '../../errors/service-error.js';
import { demoKeyFor } from './demo-key.js';
import { contentSecurityPolicy, docsPage } from './docs-page.js';
import { PublishedDescription } from './published-description.js';
import { textSender } from './text-sender.js';

/** The files of the page. The build has compressed their content with gzip. */
const COMPRESSED_FILES = fileURLToPath(new URL('./compressed', import.meta.url));

const ALL_PATHS = /^\/(?:docs(?:\/.*)?|openapi\.(?:json|yaml))?$/;

/**
 * Serves the interface description at `/openapi.json` and `/openapi.yaml`, and Swagger UI at
 * `/docs`. Call it before the application is initialized: Express then matches these routes before
 * the controllers. They do not pass the guards, so they need no API key and are not counted. With
 * `DOCS=false`, their paths get 404.
 */
export function serveDocumentation(
  app: NestExpressApplication,
  { settings, clock }: { settings: Settings; clock: Clock },
): void {
  const express: Express = app.getHttpAdapter().getInstance();
  if (!settings.server.docs) {
    express.all(ALL_PATHS, () => {
      throw new ServiceError('route_not_found', PUBLIC_MESSAGES.routeNotFound);
    });
    return;
  }
  const handlers = documentationHandlers(app, settings, clock);
  const router = expressModule.Router({ caseSensitive: true, strict: true });
  for (const [path, handler] of handlers) router.get(path, handler);
  // One comparison for all paths, because every request to the API makes it.
  const paths = [...handlers.keys()].join('|').replaceAll('.', String.raw`\.`);
  express.get(new RegExp(`^(?:${paths})$`), router);
}

function documentationHandlers(
  app: NestExpressApplication,
  { server }: Settings,
  clock: Clock,
): Map<string, RequestHandler> {
  const description = new PublishedDescription(app, server, clock);
  const page = textSender('text/html; charset=utf-8', docsPage());
  const policy = contentSecurityPolicy(server);
  const prefix = new URL(server.publicUrl ?? 'http://localhost').pathname.replace(/\/$/, '');
  const toPage: RequestHandler = (_request, response) => response.redirect(`${prefix}/docs`);
  const sendFile = expressModule.static(COMPRESSED_FILES, {
    acceptRanges: false,
    setHeaders: (response) => {
      // Also for a client that does not accept gzip: only browsers load these files.
      response.setHeader('Content-Encoding', 'gzip');
      response.setHeader('Cache-Control', 'no-cache');
    },
  });
  return new Map<string, RequestHandler>([
    ['/', toPage],
    ['/docs/', toPage],
    [
      '/docs',
      (request, response, next) => {
        response.setHeader('Content-Security-Policy', policy);
        response.setHeader('Referrer-Policy', 'no-referrer');
        const demoKey = demoKeyFor(request, server);
        if (demoKey === undefined) return page(request, response, next);
        response.setHeader('Cache-Control', 'no-store');
        response.type('html').send(docsPage(demoKey));
      },
    ],
    ['/openapi.json', (...message) => description.current().json(...message)],
    ['/openapi.yaml', (...message) => description.current().yaml(...message)],
    ...readdirSync(`${COMPRESSED_FILES}/docs`).map((name): [string, RequestHandler] => [
      `/docs/${name}`,
      sendFile,
    ]),
  ]);
}
