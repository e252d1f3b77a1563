import type { ServiceError } from '../errors/service-error.js';

/** What the service adds to Express's request, set before any route is looked for. */
declare module 'express-serve-static-core' {
  interface Request {
    /** The caller's `X-Request-Id`, or one made for this request. */
    id: string;
    /** `performance.now()` when the request's head had been read, in milliseconds. */
    receivedAt: number;
    /** How long the service waited for the body, in milliseconds. */
    bodyTookMs: number;
    /** The trace id of a valid W3C `traceparent`. */
    traceId: string | undefined;
    /** A CORS preflight from a listed origin: answered before a key is asked for. */
    corsPreflight: boolean;
    /** The client waits for `100 Continue` before it sends the body. */
    expectsContinue: boolean;
    /** Why the rest of the body will not come; told by the event of the same name. */
    bodyFailure: ServiceError | undefined;
  }
}

export type { NextFunction, Request, Response } from 'express';
