import { METHODS } from 'node:http';
import { Injectable, type NestMiddleware } from '@nestjs/common';
import cors from 'cors';
import { Settings } from '../../config/settings.js';
import { HEADER_NAMES } from '../request/headers.js';
import type { NextFunction, Request, Response } from '../request/request.js';

const PREFLIGHT_MAX_AGE_SECONDS = 600;

/**
 * Lets scripts from the origins of CORS_ORIGINS read every response (Fetch standard, CORS
 * protocol). It never allows credentials mode: API keys are in `Authorization`.
 */
@Injectable()
export class CorsMiddleware implements NestMiddleware {
  private readonly origins: ReadonlySet<string>;
  private readonly setHeaders = cors<Request>({
    origin: true,
    methods: METHODS,
    exposedHeaders: HEADER_NAMES.ofResponses.join(', '),
    allowedHeaders: HEADER_NAMES.ofRequests.join(', '),
    maxAge: PREFLIGHT_MAX_AGE_SECONDS,
    preflightContinue: true,
  });

  constructor({ server }: Settings) {
    this.origins = new Set(server.corsOrigins);
  }

  use(request: Request, response: Response, next: NextFunction): void {
    if (this.origins.size > 0) response.setHeader('Vary', 'Origin');
    if (this.origins.has(request.headers.origin ?? '')) this.setHeaders(request, response, next);
    else next();
  }
}
