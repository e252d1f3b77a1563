import { STATUS_CODES } from 'node:http';
import {
  type ArgumentsHost,
  Catch,
  type ExceptionFilter,
  HttpException,
  Logger,
} from '@nestjs/common';
import type { ErrorCode } from '../errors/catalogue.js';
import { ErrorTranslator } from '../errors/error-translator.js';
import { ServiceError, serviceUnavailable } from '../errors/service-error.js';
import { requestOf, responseOf } from './http-context.js';
import { sendError } from './json-response.js';

/** Maps whatever was thrown, anywhere, to the Error shape. A defect is logged whole, and told as nothing but 500. */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  private readonly logger = new Logger(ErrorFilter.name);

  constructor(private readonly translator: ErrorTranslator) {}

  catch(exception: unknown, host: ArgumentsHost): void {
    const error = this.toServiceError(exception);
    if (error.status >= 500) this.log(requestOf(host).id, error, error.cause ?? exception);
    sendError(responseOf(host), error);
  }

  private log(requestId: string, { code }: ServiceError, cause: unknown): void {
    if (code !== 'service_unavailable') {
      this.logger.error({ requestId, code, err: cause });
      return;
    }
    // It passes, and every request has it meanwhile: a line each, without the stack.
    const reason = cause instanceof Error ? cause.message || cause.name : cause;
    this.logger.warn({ requestId, code, reason });
  }

  private toServiceError(exception: unknown): ServiceError {
    if (exception instanceof ServiceError) return exception;
    const translated = this.translator.translate(exception);
    if (translated) return translated;
    if (exception instanceof HttpException) return fromHttpException(exception);
    return new ServiceError('internal_error', 'The service failed to handle the request.', {
      cause: exception,
    });
  }
}

/** The code for a status that a framework or a library chose. */
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

/** Keeps the status of what a framework or a library threw; its words stay inside. */
function fromHttpException(exception: HttpException): ServiceError {
  const status = exception.getStatus();
  const code = CODE_OF_STATUS[status] ?? (status < 500 ? 'invalid_request' : 'internal_error');
  if (code === 'service_unavailable') return serviceUnavailable(exception);
  const reason = STATUS_CODES[status] ?? 'Error';
  return new ServiceError(code, `The request failed: ${reason}.`, { status, cause: exception });
}
