import { Injectable, type NestMiddleware } from '@nestjs/common';
import cors from 'cors';
import { Settings } from '../../config/settings.js';
import { HEADER_NAMES } from '../request/headers.js';
import type { NextFunction, Request, Response } from '../request/request.js';

const PREFLIGHT_MAX_AGE_SECONDS = 600;

/**
 * Lets scripts from the origins of CORS_ORIGINS read every response (Fetch standard, CORS
 * protocol). It never allows credentials mode: API keys are in `Authorization`. Responds to preflights
 * from these origins, which have no API key and are not counted.
 */
@Injectable()
export class Cors implements NestMiddleware {
  private readonly origins: ReadonlySet<string>;
  private readonly setHeaders = cors<Request>({
    origin: true,
    exposedHeaders: HEADER_NAMES.ofResponses.join(', '),
    allowedHeaders: HEADER_NAMES.ofRequests.join(', '),
    maxAge: PREFLIGHT_MAX_AGE_SECONDS,
    // The package takes every OPTIONS request for a preflight.
    preflightContinue: true,
  });

  constructor({ server }: Settings) {
    this.origins = new Set(server.corsOrigins);
  }

  use(request: Request, response: Response, next: NextFunction): void {
    const { method, headers } = request;
    if (this.origins.size > 0) response.setHeader('Vary', 'Origin');
    if (!this.origins.has(headers.origin ?? '')) return next();
    const isPreflight = method === 'OPTIONS' && 'access-control-request-method' in headers;
    this.setHeaders(request, response, isPreflight ? () => response.status(204).end() : next);
  }
}
