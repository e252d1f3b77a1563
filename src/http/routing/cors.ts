import type { NextFunction, Request, Response } from '../request/request.js';

const EXPOSED_HEADERS = [
  'Link',
  'ETag',
  'Retry-After',
  'X-Request-Id',
  'Deprecation',
  'Sunset',
  'Idempotent-Replayed',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'RateLimit',
  'RateLimit-Policy',
].join(', ');

const REQUEST_HEADERS =
  'Authorization, Content-Type, Idempotency-Key, If-None-Match, X-Request-Id, traceparent';
const PREFLIGHT_MAX_AGE_SECONDS = '600';

/**
 * Returns the middleware that lets scripts from the listed origins read every response (Fetch
 * standard, CORS protocol). It never allows credentials mode: API keys are in `Authorization`.
 */
export function cors(origins: readonly string[]) {
  const listed = new Set(origins);
  return (request: Request, response: Response, next: NextFunction): void => {
    response.setHeader('Vary', 'Origin');
    const origin = request.headers.origin;
    if (origin !== undefined && listed.has(origin)) {
      response.setHeader('Access-Control-Allow-Origin', origin);
      response.setHeader('Access-Control-Expose-Headers', EXPOSED_HEADERS);
      request.corsPreflight =
        request.method === 'OPTIONS' && 'access-control-request-method' in request.headers;
    }
    next();
  };
}

/** Sets the headers of the response to a preflight. @param methods the allowed methods */
export function setPreflightHeaders(response: Response, methods: readonly string[]): void {
  response.setHeader('Access-Control-Allow-Methods', methods.join(', '));
  response.setHeader('Access-Control-Allow-Headers', REQUEST_HEADERS);
  response.setHeader('Access-Control-Max-Age', PREFLIGHT_MAX_AGE_SECONDS);
}
