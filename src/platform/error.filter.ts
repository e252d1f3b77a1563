import { STATUS_CODES } from 'node:http';
import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException } from '@nestjs/common';
import { Settings } from './config/settings.js';
import { translateDatabaseError } from './database/database-errors.js';
import { codeOfStatus, ERRORS } from './errors/catalogue.js';
import { ServiceError, serviceUnavailable } from './errors/service-error.js';
import { challengeOf } from './http/request/headers.js';
import { responseOf } from './http/request/request.js';
import { sendError } from './http/response/send-body.js';

/** Codes that are errors of RFC 6750, section 3.1. Another 401 has a challenge without an error. */
const BEARER_ERRORS = new Map([
  ['invalid_api_key', ', error="invalid_token"'],
  ['read_only_api_key', ', error="insufficient_scope"'],
]);

/** Sends every exception as an Error. Only the log line of the request contains the cause. */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  constructor(private readonly settings: Settings) {}

  catch(exception: unknown, host: ArgumentsHost): void {
    const response = responseOf(host);
    const error = serviceErrorOf(exception);
    const parameter = BEARER_ERRORS.get(error.code) ?? (error.status === 401 ? '' : undefined);
    const name = 'WWW-Authenticate';
    if (parameter !== undefined && !response.headersSent && !response.hasHeader(name)) {
      response.setHeader(name, challengeOf(this.settings.product) + parameter);
    }
    sendError(response, error);
  }
}

function serviceErrorOf(exception: unknown): ServiceError {
  if (exception instanceof ServiceError) return exception;
  return translateDatabaseError(exception) ?? unknownError(exception);
}

function unknownError(cause: unknown): ServiceError {
  if (cause instanceof HttpException) return fromHttpException(cause);
  // The package http-errors, which Express middleware uses, declares what the client may read.
  const { expose, statusCode, message } = (cause ?? {}) as Partial<
    Error & { expose: boolean; statusCode: number }
  >;
  if (expose && statusCode !== undefined) {
    return fromHttpException(new HttpException(message ?? '', statusCode));
  }
  return new ServiceError('internal_error', undefined, { cause });
}

/** Keeps the status, and below 500 the message that a feature, or a package that it uses, has set. */
function fromHttpException(cause: HttpException): ServiceError {
  const status = cause.getStatus();
  if (status === 503) return serviceUnavailable(cause);
  if (status < 400 || status > 599) return new ServiceError('internal_error', undefined, { cause });
  const response = cause.getResponse() as string | { message?: string | string[] };
  const set = typeof response === 'string' ? response : response.message;
  const message =
    (Array.isArray(set) ? `${set.join('; ')}.` : set) || `${STATUS_CODES[status] ?? 'Error'}.`;
  const when = status < 500 ? message : ERRORS.internal_error.when;
  const options = { cause: status < 500 ? cause.cause : cause };
  return new ServiceError({ code: codeOfStatus(status), status, when }, undefined, options);
}
