import type { ServiceError } from '../../errors/service-error.js';

/** The properties that the service adds to Express's request, set before routing. */
declare module 'express-serve-static-core' {
  interface Request {
    /** The caller's `X-Request-Id`, or a generated one. */
    id: string;
    /** `performance.now()` when the head of the request had arrived, in milliseconds. */
    receivedAt: number;
    /** The client's address. Undefined when the client had already disconnected. */
    clientAddress: string | undefined;
    /** The error of the response, for the log. */
    failure: ServiceError | undefined;
    /** The trace id of a valid W3C `traceparent`. */
    traceId: string | undefined;
    /** Overload counts the request as one in progress. */
    isCounted?: boolean;
    /** A CORS preflight from a listed origin, which needs no API key. */
    corsPreflight: boolean;
    /** The owner or client address that the request is charged to. Set by the rate limit guard. */
    callerId: string;
    /** The client waits for `100 Continue` before it sends the body. */
    expectsContinue: boolean;
    /** Why the rest of the body cannot arrive. */
    bodyFailure: ServiceError | undefined;
    /** Throws if the handler must not return this result. Set by a guard of the route. */
    checkResult?: (result: unknown) => void;
  }
}

export type { NextFunction, Request, Response } from 'express';
