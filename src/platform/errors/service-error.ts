import { ERRORS, type ErrorCode, type FeatureError } from './catalogue.js';
import { PUBLIC_MESSAGES } from './public-messages.js';

interface ServiceErrorOptions {
  /** The HTTP status, if it differs from the status of the code. */
  status?: number;
  /** Headers of the error response. */
  headers?: Readonly<Record<string, string>>;
  /** The internal cause. It is logged and never sent. */
  cause?: unknown;
}

/** An error for the caller, with a stable code, a public message and a private cause. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  readonly code: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  /**
   * @param error a code of the catalogue, or an error that a feature declares
   * @param message the public message; it reveals no internals of the service
   */
  constructor(error: ErrorCode | FeatureError, message: string, options: ServiceErrorOptions = {}) {
    const { stackTraceLimit } = Error;
    // Only an internal error is logged with its stack, and capturing a stack makes rejections slow.
    if (error !== 'internal_error') Error.stackTraceLimit = 0;
    super(message, { cause: options.cause });
    Error.stackTraceLimit = stackTraceLimit;
    this.code = typeof error === 'string' ? error : error.code;
    this.status = options.status ?? (typeof error === 'string' ? ERRORS[error] : error).status;
    this.headers = options.headers ?? {};
  }
}

/** In seconds. */
const RETRY_SOON = { 'Retry-After': '2' };

/** Returns a 503. @param message the public message */
export function serviceUnavailable(
  cause: unknown,
  message: string = PUBLIC_MESSAGES.serviceUnavailable,
): ServiceError {
  return new ServiceError('service_unavailable', message, { headers: RETRY_SOON, cause });
}

/** Returns the 503 for a request that exceeds a limit of the service. */
export function serviceOverloaded(cause: unknown): ServiceError {
  return serviceUnavailable(cause, PUBLIC_MESSAGES.serviceOverloaded);
}

/** Returns the 503 for an unavailable database. */
export function databaseUnavailable(cause: unknown): ServiceError {
  return serviceUnavailable(cause, PUBLIC_MESSAGES.databaseUnavailable);
}
