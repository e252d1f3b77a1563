import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Express } from 'express';
import type { Clock } from '../../config/clock.js';
import type { Settings } from '../../config/settings.js';
import { demoKeyFor } from './demo-key.js';
import { contentSecurityPolicy, docsPage, readDocsFiles } from './docs-page.js';
import { PublishedDescription } from './published-description.js';

/**
 * Serves the interface description at `/openapi.json` and `/openapi.yaml`, and Swagger UI at
 * `/docs`. Call it before the application is initialized: Express then matches these routes before
 * the controllers. They do not pass the guards, so they need no API key and have no rate limit.
 */
export function serveInterfaceDescription(
  app: NestExpressApplication,
  { settings, clock }: { settings: Settings; clock: Clock },
): void {
  const description = new PublishedDescription(app, settings.server, clock);
  const policy = contentSecurityPolicy(settings.server);
  const docsPath = `${new URL(settings.server.publicUrl ?? 'http://localhost').pathname.replace(/\/$/, '')}/docs`;
  const express: Express = app.getHttpAdapter().getInstance();

  const page = docsPage();
  express.get(['/', '/docs/'], (_request, response) => response.redirect(docsPath));
  express.get('/openapi.json', (request, response) =>
    description.current().json.send(request, response),
  );
  express.get('/openapi.yaml', (request, response) =>
    description.current().yaml.send(request, response),
  );
  express.get('/docs', (request, response) => {
    response.setHeader('Content-Security-Policy', policy);
    response.setHeader('Referrer-Policy', 'no-referrer');
    const demoKey = demoKeyFor(request, settings.server);
    if (demoKey === undefined) return page.send(request, response);
    response.setHeader('Cache-Control', 'no-store');
    return docsPage(demoKey).send(request, response);
  });
  for (const [name, file] of readDocsFiles()) {
    express.get(`/docs/${name}`, (request, response) => file.send(request, response));
  }
}
