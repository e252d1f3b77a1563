import { STATUS_CODES } from 'node:http';
import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException } from '@nestjs/common';
import { codeOfStatus, ERRORS } from '../../errors/catalogue.js';
import { ErrorTranslator } from '../../errors/error-translator.js';
import { PUBLIC_MESSAGES } from '../../errors/public-messages.js';
import { ServiceError, serviceUnavailable } from '../../errors/service-error.js';
import { responseOf } from '../request/request-context.js';
import { sendError } from './send-json.js';

/** Sends every exception as an Error. Only the log line of the request contains the cause. */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  constructor(private readonly translator: ErrorTranslator) {}

  catch(exception: unknown, host: ArgumentsHost): void {
    const known =
      exception instanceof ServiceError ? exception : this.translator.translate(exception);
    sendError(responseOf(host), known ?? unknownError(exception));
  }
}

function unknownError(cause: unknown): ServiceError {
  if (cause instanceof HttpException) return fromHttpException(cause);
  return new ServiceError('internal_error', PUBLIC_MESSAGES.internalError, { cause });
}

/** Messages of NestJS itself: its pipes, its router, a guard that returns false. */
const FRAMEWORK_MESSAGE =
  /^(?:Validation failed|The value passed as UUID|(?:\[\d+\] )?item must be|File is required|Forbidden resource$|Cannot [A-Z]+ \/|ThrottlerException)/;

/**
 * Keeps the status, and below 500 the message that the code of a feature has set. Other messages
 * may reveal internals.
 */
function fromHttpException(exception: HttpException): ServiceError {
  const status = exception.getStatus();
  const code = codeOfStatus(status);
  if (code === 'service_unavailable') return serviceUnavailable(exception);
  const message =
    status < 500 ? (ownMessage(exception) ?? ERRORS[code].when) : PUBLIC_MESSAGES.internalError;
  return new ServiceError(code, message, { status, cause: exception });
}

/** Returns the message that the code that throws has set, undefined for a message of NestJS. */
function ownMessage(exception: HttpException): string | undefined {
  const response = exception.getResponse();
  const set: unknown =
    typeof response === 'string' ? response : (response as { message?: unknown }).message;
  const message = Array.isArray(set) ? `${set.join('; ')}.` : set;
  if (typeof message !== 'string' || message === '') return undefined;
  const reason = STATUS_CODES[exception.getStatus()] ?? '';
  // NestJS shortens a reason.
  const isDefault = reason.toLowerCase().startsWith(message.toLowerCase());
  return isDefault || FRAMEWORK_MESSAGE.test(message) ? undefined : message;
}
