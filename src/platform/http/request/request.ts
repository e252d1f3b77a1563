import type { IdentifiedCaller } from '../../access/caller.js';
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
    /** Why the rest of the body cannot arrive. */
    bodyFailure?: ServiceError;
    /**
     * The service reads neither the body nor what follows it, and the connection closes after the
     * response. Node's parser reads no body if it is set before the first asynchronous step.
     */
    ignoresInput?: boolean;
    /** The request is counted as one in progress, until the head of its response is written. */
    isInProgress?: boolean;
    /** The SHA-256 of the API key, '' without one that the store has issued. */
    keyHash?: string;
    /** Undefined on routes that need no caller. */
    caller?: IdentifiedCaller;
    /** What a handler with `@IdempotencyKey()` gets. */
    idempotencyKey?: object;
    /** The client has not sent its body yet. */
    waitsForBody?: boolean;
    /** Sends a 503 unless the response ends before. */
    deadline?: NodeJS.Timeout;
    /** The error of the response, for the log. */
    failure?: ServiceError;
  }
}

export type { NextFunction, Request, Response } from 'express';
