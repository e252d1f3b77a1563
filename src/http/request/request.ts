import type { Request, Response } from 'express';
import type { ServiceError } from '../../errors/service-error.js';

/** A request's place among the requests in progress, whose number has a bound. */
export interface RequestSlot {
  /** Gives the place up while the service waits for the client. */
  release(): void;
  /** Takes a place again, even when none is free: the request has been admitted. */
  takeBack(): void;
  /** The request has a valid API key, so it no longer counts as unauthenticated. */
  setAuthenticated(): void;
}

/** What the service adds to Express's request, set before any route is looked for. */
declare module 'express-serve-static-core' {
  interface Request {
    /** The caller's `X-Request-Id`, or one made for this request. */
    id: string;
    /** `performance.now()` when the request's head had been read, in milliseconds. */
    receivedAt: number;
    /** How long the service waited for the body, in milliseconds. */
    bodyTookMs: number;
    /** The client's address, as far as proxies are trusted; undefined when the client has disconnected already. */
    clientAddress: string | undefined;
    /** The error of the response, for the log. */
    failure: ServiceError | undefined;
    /** The trace id of a valid W3C `traceparent`. */
    traceId: string | undefined;
    /** A CORS preflight from a listed origin: answered before a key is asked for. */
    corsPreflight: boolean;
    /** Identifies who the request is charged to: an owner or a client address. Set by the rate limit guard. */
    callerId: string;
    /** The request's place among those in progress; absent for health probes, which need none. */
    slot?: RequestSlot;
    /** The client waits for `100 Continue` before it sends the body. */
    expectsContinue: boolean;
    /** Why the rest of the body will not come; told by the event of the same name. */
    bodyFailure: ServiceError | undefined;
  }
}

export type { NextFunction, Request, Response } from 'express';

/** Whether the rate limit of a client address allows a request, and the headers that report the limit. */
export interface AddressDecision {
  headers: readonly (readonly [name: string, value: string])[];
  /** The 429 when the request is over the limit. */
  rejection: ServiceError | undefined;
}

/** Sets the rate limit headers of the client address without counting the request. */
export type SetRateLimitHeaders = (request: Request, response: Response) => Promise<void>;
