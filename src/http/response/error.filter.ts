import { STATUS_CODES } from 'node:http';
import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException } from '@nestjs/common';
import type { ErrorCode } from '../../errors/catalogue.js';
import { ErrorTranslator } from '../../errors/error-translator.js';
import { PUBLIC_MESSAGES } from '../../errors/public-messages.js';
import { ServiceError, serviceUnavailable } from '../../errors/service-error.js';
import { responseOf } from '../request/http-context.js';
import { sendError } from './send-json.js';

/** Sends every exception as an Error. Only the log line of the request contains the cause. */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  constructor(private readonly translator: ErrorTranslator) {}

  catch(exception: unknown, host: ArgumentsHost): void {
    sendError(responseOf(host), this.toServiceError(exception));
  }

  private toServiceError(exception: unknown): ServiceError {
    if (exception instanceof ServiceError) return exception;
    const translated = this.translator.translate(exception);
    if (translated) return translated;
    if (exception instanceof HttpException) return fromHttpException(exception);
    return new ServiceError('internal_error', PUBLIC_MESSAGES.internalError, {
      cause: exception,
    });
  }
}

/** The error code for a status that NestJS or a library has set. */
const CODE_OF_STATUS: Readonly<Record<number, ErrorCode>> = {
  400: 'invalid_request',
  401: 'invalid_api_key',
  404: 'route_not_found',
  405: 'method_not_allowed',
  408: 'request_timeout',
  413: 'payload_too_large',
  415: 'unsupported_media_type',
  429: 'rate_limit_exceeded',
  503: 'service_unavailable',
};

/** Keeps the status of the exception and hides its message, which may reveal internals. */
function fromHttpException(exception: HttpException): ServiceError {
  const status = exception.getStatus();
  const code = CODE_OF_STATUS[status] ?? (status < 500 ? 'invalid_request' : 'internal_error');
  if (code === 'service_unavailable') return serviceUnavailable(exception);
  const reason = STATUS_CODES[status] ?? 'Error';
  return new ServiceError(code, `The request failed: ${reason}.`, { status, cause: exception });
}
