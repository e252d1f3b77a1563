import { ERROR_STATUS, type ErrorCode } from './catalogue.js';

interface ServiceErrorOptions {
  /** The HTTP status, where it is not the code's own. */
  status?: number;
  /** Header fields that the answer carries beside the body. */
  headers?: Readonly<Record<string, string>>;
  /** What went wrong inside; logged, never sent. */
  cause?: unknown;
}

/** A failure that the caller is told about: a stable code, a public message and a private cause. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  /**
   * @param code one of the catalogue's codes
   * @param message for the caller to read; says nothing of the service's inside
   */
  constructor(
    readonly code: ErrorCode,
    message: string,
    options: ServiceErrorOptions = {},
  ) {
    const { stackTraceLimit } = Error;
    // Only a defect is logged with its stack. Capturing one is a large part of what a rejection costs.
    if (code !== 'internal_error') Error.stackTraceLimit = 0;
    super(message, { cause: options.cause });
    Error.stackTraceLimit = stackTraceLimit;
    this.status = options.status ?? ERROR_STATUS[code];
    this.headers = options.headers ?? {};
  }
}

/** Seconds after which a caller may try again when the database or the service is not there. */
const UNAVAILABLE_RETRY_SECONDS = 2;

/** Returns the 503 for a request that exceeds a bound of the service, with `Retry-After`. */
export function serviceOverloaded(cause: unknown): ServiceError {
  return new ServiceError('service_unavailable', 'The service is overloaded. Try again later.', {
    headers: { 'Retry-After': String(UNAVAILABLE_RETRY_SECONDS) },
    cause,
  });
}

/** Returns the 503 for a database that cannot be reached, with `Retry-After`. */
export function serviceUnavailable(cause: unknown): ServiceError {
  return new ServiceError(
    'service_unavailable',
    'The service cannot reach its database at the moment. Try again later.',
    { headers: { 'Retry-After': String(UNAVAILABLE_RETRY_SECONDS) }, cause },
  );
}
