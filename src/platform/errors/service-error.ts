import { HttpException } from '@nestjs/common';
import { ERRORS, type ErrorCode, type FeatureError } from './catalogue.js';

/** A property of a request that a rule rejects. A filter can translate the message. */
export interface InvalidProperty {
  /** A path for a nested one: `items.0.name`. */
  readonly property: string;
  /** Its name in class-validator: `isString`. */
  readonly rule: string;
  readonly message: string;
  /** The values that a rule of `#platform` accepts: `one of red, blue`. */
  readonly expected?: string | undefined;
}

interface ServiceErrorOptions {
  /** Headers of the error response. */
  headers?: Readonly<Record<string, string>>;
  /** The internal cause. It is logged and never sent. */
  cause?: unknown;
  /** The message lists them. */
  invalidProperties?: readonly InvalidProperty[];
}

/** HttpException without its declarations of private properties. */
const NestException = HttpException as unknown as new (
  ...args: ConstructorParameters<typeof HttpException>
) => Error & Pick<HttpException, 'getStatus' | 'getResponse'>;

/**
 * An error for the caller, with a stable code, a public message and a private cause. It is an
 * HttpException for the exception filters of features.
 */
export class ServiceError extends NestException {
  readonly code: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly invalidProperties: readonly InvalidProperty[];

  /**
   * @param error a code of the catalogue, or an error that a feature declares
   * @param message the public message, by default that of the error; it reveals no internals
   */
  constructor(
    error: ErrorCode | FeatureError,
    message?: string,
    { headers = {}, cause, invalidProperties = [] }: ServiceErrorOptions = {},
  ) {
    const kind = typeof error === 'string' ? { code: error, ...ERRORS[error] } : error;
    const { code, status, when } = kind;
    super({ code, message: message ?? when, status }, status, { cause });
    this.code = code;
    this.status = status;
    this.headers = headers;
    this.invalidProperties = invalidProperties;
  }
}

/** Returns the 400 for at least one invalid property. @param more how many are not listed */
export function invalidRequest(listed: readonly InvalidProperty[], more = 0): ServiceError {
  const messages = listed.map(({ message }) => message);
  if (more > 0) messages.push(`and ${more} more`);
  const options = { invalidProperties: listed };
  return new ServiceError('invalid_request', `${messages.join('; ')}.`, options);
}

/** Returns a 503. @param message the public message */
export function serviceUnavailable(cause: unknown, message?: string): ServiceError {
  return new ServiceError('service_unavailable', message, { cause });
}

/** Returns the 413 for a body of more bytes. */
export function payloadTooLarge(maxBytes: number): ServiceError {
  const message = `The request body must not be larger than ${maxBytes} bytes.`;
  return new ServiceError('payload_too_large', message);
}

/** Returns the 503 for a request that exceeds a limit of the service. */
export function serviceOverloaded(cause: unknown): ServiceError {
  return serviceUnavailable(cause, 'The service is overloaded. Try again later.');
}

/** Returns the 503 for an unavailable database. */
export function databaseUnavailable(cause: unknown): ServiceError {
  const message = 'The service cannot use its database at the moment. Try again later.';
  return serviceUnavailable(cause, message);
}
