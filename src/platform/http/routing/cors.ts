import { Injectable, type NestMiddleware } from '@nestjs/common';
import { Settings } from '../../config/settings.js';
import { HEADER_NAMES } from '../request/headers.js';
import type { NextFunction, Request, Response } from '../request/request.js';

const EXPOSED_HEADERS = HEADER_NAMES.ofResponses.join(', ');
const REQUEST_HEADERS = HEADER_NAMES.ofRequests.join(', ');
const PREFLIGHT_MAX_AGE_SECONDS = '600';

/**
 * Lets scripts from the origins of CORS_ORIGINS read every response (Fetch standard, CORS
 * protocol). It never allows credentials mode: API keys are in `Authorization`.
 */
@Injectable()
export class Cors implements NestMiddleware {
  private readonly origins: ReadonlySet<string>;

  constructor({ server }: Settings) {
    this.origins = new Set(server.corsOrigins);
  }

  use(request: Request, response: Response, next: NextFunction): void {
    if (this.origins.size > 0) this.allow(request, response);
    next();
  }

  private allow(request: Request, response: Response): void {
    response.setHeader('Vary', 'Origin');
    const { origin } = request.headers;
    if (origin === undefined || !this.origins.has(origin)) return;
    response.setHeader('Access-Control-Allow-Origin', origin);
    response.setHeader('Access-Control-Expose-Headers', EXPOSED_HEADERS);
    request.corsPreflight =
      request.method === 'OPTIONS' && 'access-control-request-method' in request.headers;
  }
}

/** Sets the headers of the response to a preflight. @param methods the allowed methods */
export function setPreflightHeaders(response: Response, methods: readonly string[]): void {
  response.setHeader('Access-Control-Allow-Methods', methods.join(', '));
  response.setHeader('Access-Control-Allow-Headers', REQUEST_HEADERS);
  response.setHeader('Access-Control-Max-Age', PREFLIGHT_MAX_AGE_SECONDS);
}
