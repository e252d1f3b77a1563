import type { Request } from 'express';
import type { ServiceError } from '../../errors/service-error.js';

declare module 'express-serve-static-core' {
  /** The properties that steps add to Express's request, in the order of the steps. */
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

const INPUT = Symbol('input');

/** Whether the service reads the body of a request, and whether the client has sent it. */
interface RequestInput {
  /**
   * The service reads none of it, and the connection closes after the response. Node's parser reads no
   * body if it is set before the first asynchronous step.
   */
  isIgnored?: boolean;
  /** The client has not sent its body yet. */
  isAwaited?: boolean;
  /** Throws if the API key of the request is no longer valid, or does no longer allow it. */
  checkCaller?: () => Promise<void>;
  /** Why the rest of the body cannot arrive. */
  failure?: ServiceError;
}

/** Returns the state of a request's input, which its steps change. */
export function inputOf(request: Request & { [INPUT]?: RequestInput | undefined }): RequestInput {
  return (request[INPUT] ??= {});
}
