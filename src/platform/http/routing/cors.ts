import { Injectable, type NestMiddleware } from '@nestjs/common';
import { Settings } from '../../config/settings.js';
import { AddressLimits } from '../request/address-limits.js';
import { HEADER_NAMES } from '../request/headers.js';
import type { NextFunction, Request, Response } from '../request/request.js';
import { allowedMethods } from './allowed-methods.js';

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
    if (this.origins.size > 0) {
      const { origin } = request.headers;
      response.setHeader('Vary', 'Origin');
      if (origin !== undefined && this.origins.has(origin)) {
        response.setHeader('Access-Control-Allow-Origin', origin);
        response.setHeader('Access-Control-Expose-Headers', EXPOSED_HEADERS);
      }
    }
    next();
  }
}

/** Responds to preflights from these origins. They have no API key and are not counted. */
@Injectable()
export class Preflights implements NestMiddleware {
  constructor(private readonly limits: AddressLimits) {}

  use(request: Request, response: Response, next: NextFunction): void {
    const isPreflight =
      request.method === 'OPTIONS' &&
      'access-control-request-method' in request.headers &&
      response.hasHeader('access-control-allow-origin');
    if (!isPreflight) {
      next();
      return;
    }
    this.limits.reportForAddress(request.clientAddress, response);
    response.setHeader('Access-Control-Allow-Methods', allowedMethods(request).join(', '));
    response.setHeader('Access-Control-Allow-Headers', REQUEST_HEADERS);
    response.setHeader('Access-Control-Max-Age', PREFLIGHT_MAX_AGE_SECONDS);
    response.status(204).end();
  }
}
