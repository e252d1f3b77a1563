import type { ServiceError } from '../../errors/service-error.js';

declare module 'express-serve-static-core' {
  /** What the steps of a request add to Express's request, in the order of the steps. */
  interface Request {
    /** `performance.now()` when the head of the request had arrived, in milliseconds. */
    receivedAt: number;
    /** The caller's `X-Request-Id`, or a generated one. */
    id: string;
    /** The trace id of the active span, or of a valid W3C `traceparent`. */
    traceId: string | undefined;
    /** The client's address. Undefined when the client had already disconnected. */
    clientAddress: string | undefined;
    /** The error of the response, for the log. */
    failure?: ServiceError;
  }
}

export type { NextFunction, Request, Response } from 'express';
