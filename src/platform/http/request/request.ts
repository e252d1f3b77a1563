import type { ArgumentsHost } from '@nestjs/common';
import type { Request, Response } from 'express';
import type { RequestState } from './request-state.js';

declare module 'express-serve-static-core' {
  interface Request {
    /** What the steps of the request keep. RequestContextMiddleware, the first step, creates it. */
    state: RequestState;
  }
}

export type { NextFunction, Request, Response } from 'express';

/** The paths of HealthController, with or without a query. */
const HEALTH_PROBE = /^\/health\/(?:live|ready)(?:$|\?)/;

/** Returns whether a request is a health probe, which is never shed or delayed. */
export function isHealthProbe({ method, url }: Request): boolean {
  return (method === 'GET' || method === 'HEAD') && HEALTH_PROBE.test(url);
}

/** The path of the catch-all route, which has all methods. */
export const EVERY_PATH = '/{*path}';

/** Returns the path template of the route, such as `/v1/toys/:toyId`, or 'unmatched'. */
export function routeOf(request: Request): string {
  const path: unknown = (request.route as { path?: unknown } | undefined)?.path;
  return typeof path === 'string' && path !== EVERY_PATH ? path : 'unmatched';
}

/** Returns whether the request has a body (RFC 9112, section 6.3). */
export function hasBody(request: Request): boolean {
  const length = request.headers['content-length'];
  return (length !== undefined && !/^0+$/.test(length)) || 'transfer-encoding' in request.headers;
}

/** Returns whether a read-only API key sends a request that may change something. */
export function exceedsAccess({ method, state: { caller } }: Request): boolean {
  const isReadOnly = caller?.kind === 'key' && caller.key.access === 'read';
  return isReadOnly && !/^(?:GET|HEAD|OPTIONS)$/.test(method);
}

export function requestOf(host: ArgumentsHost): Request {
  return host.getArgByIndex<Request>(0);
}

export function responseOf(host: ArgumentsHost): Response {
  return host.getArgByIndex<Response>(1);
}
