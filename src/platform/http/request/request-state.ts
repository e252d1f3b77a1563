import type { Request } from 'express';
import type { ServiceError } from '../../errors/service-error.js';
import type { Identification } from './caller.js';

/** Checks a caller again while a long body or stream is in progress, because its API key may be revoked. */
export interface CallerCheck {
  /** Rejects if the API key is no longer valid, no longer allows the request, or its state cannot be read. */
  checkAgain(request: Request): Promise<void>;
}

/**
 * Holds results of steps for later ones, in the order of the steps (pipeline.ts). Every property
 * exists from the start, so that all states have one shape for V8.
 */
export class RequestState {
  /** `performance.now()` when the head of the request had arrived, in milliseconds. */
  readonly receivedAt = performance.now();
  /** What follows the head is not read. Only `ignoreInput` sets it. */
  isInputIgnored = false;
  /** OverloadMiddleware counts the request as in progress, until its response begins. */
  isInProgress = false;
  /** The SHA-256 of an API key that the store has issued, '' without one. undefined: not computed yet. */
  keyHash: string | undefined = undefined;
  /** Authenticator identifies it. undefined: not yet, or nobody needs it. */
  caller: Identification | undefined = undefined;
  /** ApiKeyGuard sets it before its check. undefined before this guard, and on `@Public()` routes. */
  callerCheck: CallerCheck | undefined = undefined;
  /** The valid `Idempotency-Key` of a route that accepts one. */
  idempotencyKey: string | undefined = undefined;
  /** BodyGuard waits for the rest of the body. */
  isBodyAwaited = false;
  /** Why the rest of the body cannot arrive. */
  bodyFailure: ServiceError | undefined = undefined;
  /** The body, if it is within the limit of values that `@BodyLimit()` sets for its route. */
  bodyWithinOwnLimit: object | undefined = undefined;
  /** The timer of ResponseDeadline. */
  deadline: NodeJS.Timeout | undefined = undefined;
  /** The error of the response, for the log. */
  failure: ServiceError | undefined = undefined;

  /**
   * @param id the caller's `X-Request-Id`, or a generated one
   * @param traceId the trace id of a valid W3C `traceparent`, otherwise of the active span
   * @param clientAddress undefined when the client had already disconnected
   */
  constructor(
    readonly id: string,
    readonly traceId?: string,
    readonly clientAddress?: string,
  ) {}
}
