import { Injectable, type NestMiddleware } from '@nestjs/common';
import type { NextFunction, Request, Response } from '../request/request.js';

/** The headers that a script wants to send, such as those of tracing. The length bounds the response. */
const NAMES = /^[\w!#$%&'*+.^`|~, \t-]{1,2000}$/;

/** Responds to preflights from the origins of CORS_ORIGINS, after the steps that can reject any request. */
@Injectable()
export class PreflightMiddleware implements NestMiddleware {
  use({ method, headers }: Request, response: Response, next: NextFunction): void {
    const isPreflight = method === 'OPTIONS' && 'access-control-request-method' in headers;
    if (!isPreflight || !response.hasHeader('access-control-allow-origin')) return next();
    const names = headers['access-control-request-headers'] ?? '';
    if (NAMES.test(names)) response.appendHeader('Access-Control-Allow-Headers', names);
    response.status(204).end();
  }
}
