import type { Request, Response } from 'express';
import type { ServiceError } from '../../errors/service-error.js';
import type { RequestSlot } from './request-slot.js';

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
    /** A CORS preflight from a listed origin, which needs no API key. */
    corsPreflight: boolean;
    /** The owner or client address that the request is charged to. Set by the rate limit guard. */
    callerId: string;
    /** The slot of the request. Health probes need none. */
    slot?: RequestSlot;
    /** The client waits for `100 Continue` before it sends the body. */
    expectsContinue: boolean;
    /** Why the rest of the body cannot arrive. The `bodyFailure` event reports it. */
    bodyFailure: ServiceError | undefined;
    /** Throws if the handler must not return this result. Set by a guard of the route. */
    checkResult?: (result: unknown) => void;
    /** Starts the response deadline. @param bodyMs how long the service waited for the body */
    startResponseDeadline(bodyMs: number): void;
  }
}

export type { NextFunction, Request, Response } from 'express';

/** Whether the rate limit of a client address allows a request, and the headers that report it. */
export interface AddressDecision {
  headers: readonly (readonly [name: string, value: string])[];
  /** The 429 when the request is over the limit. */
  rejection: ServiceError | undefined;
}

/** Sets the rate limit headers of the client address without counting the request. */
export type SetRateLimitHeaders = (request: Request, response: Response) => Promise<void>;
