import { STATUS_CODES } from 'node:http';
import {
  type ArgumentsHost,
  Catch,
  type ExceptionFilter,
  HttpException,
  Logger,
} from '@nestjs/common';
import { codeOfStatus, ERRORS } from '../../errors/catalogue.js';
import { ErrorTranslator } from '../../errors/error-translator.js';
import { PUBLIC_MESSAGES } from '../../errors/public-messages.js';
import { ServiceError, serviceUnavailable } from '../../errors/service-error.js';
import { responseOf } from '../request/request-context.js';
import { sendError } from './send-json.js';

/** Sends every exception as an Error. Only the log line of the request contains the cause. */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  private readonly logger = new Logger(ErrorFilter.name);

  constructor(private readonly translator: ErrorTranslator) {}

  catch(exception: unknown, host: ArgumentsHost): unknown {
    const known =
      exception instanceof ServiceError ? exception : this.translator.translate(exception);
    const error = known ?? unknownError(exception);
    if (host.getType() === 'http') return sendError(responseOf(host), error);
    // A resolver of GraphQL returns its error. The request has the status 200.
    if (error.status >= 500) this.logger.error(error.cause ?? error);
    return error;
  }
}

interface HttpErrors {
  expose: boolean;
  statusCode: number;
  message: string;
}

function unknownError(cause: unknown): ServiceError {
  if (cause instanceof HttpException) return fromHttpException(cause);
  // The package http-errors, which Express middleware uses, declares what the client may read.
  const { expose, statusCode, message } = (cause ?? {}) as Partial<HttpErrors>;
  if (expose !== undefined && statusCode !== undefined) {
    return fromHttpException(new HttpException((expose && message) || '', statusCode, { cause }));
  }
  return new ServiceError('internal_error', PUBLIC_MESSAGES.internalError, { cause });
}

/** The messages of NestJS itself, as whole sentences: of its pipes, its router, and its guards. */
const NEST_MESSAGES = [
  /^Validation failed \((?:parsable array expected|(?:boolean|enum|numeric) string is expected|uuid(?: v \w+)? is expected|no Date provided|invalid date format|(?:current )?file .+|expected (?:size|type) is .+)\)$/,
  /^The value passed as UUID is not a string$/,
  /^(?:\[\d+\] )?item must be a (?:number|boolean value)$/,
  /^File is required$/,
  /^Cannot [A-Z]+ \/\S*$/,
  /^Forbidden resource$/,
  /^ThrottlerException: Too Many Requests$/,
];

const NOT_MULTIPART = 'The body is not valid multipart/form-data.';

/** The service's text for each error of multer, by its code, and of busboy, by its message. */
const UPLOAD_MESSAGES = new Map<unknown, string>([
  ['LIMIT_PART_COUNT', 'The upload has too many parts.'],
  ['LIMIT_FILE_SIZE', 'A file of the upload is too large.'],
  ['LIMIT_FILE_COUNT', 'The upload has too many files.'],
  ['LIMIT_FIELD_KEY', 'A name in the upload is too long.'],
  ['LIMIT_FIELD_VALUE', 'A value of the upload is too long.'],
  ['LIMIT_FIELD_COUNT', 'The upload has too many values.'],
  ['LIMIT_FIELD_NESTING', 'A name in the upload is nested too deep.'],
  ['LIMIT_FIELD_ARRAY_INDEX', 'A name in the upload has an index that is too large.'],
  ['LIMIT_UNEXPECTED_FILE', 'The upload contains an unexpected file.'],
  ['MISSING_FIELD_NAME', 'A part of the upload has no name.'],
  ['INVALID_FIELD_NAME', 'A name in the upload is not valid.'],
  ['Multipart: Boundary not found', NOT_MULTIPART],
  ['Multipart: Malformed part header', NOT_MULTIPART],
  ['Multipart: Unexpected end of form', NOT_MULTIPART],
  ['Multipart: Unexpected end of file', NOT_MULTIPART],
  ['Unsupported content type', PUBLIC_MESSAGES.unsupportedUploadType],
]);

/**
 * Keeps the status, and below 500 and for 503 the message that the code of a feature has set. Other
 * messages may reveal internals.
 */
function fromHttpException(exception: HttpException): ServiceError {
  const status = exception.getStatus();
  if (!(status >= 400 && status <= 599)) {
    const message = `An HttpException has the status ${status}. Use 400 to 599.`;
    return unknownError(new Error(message, { cause: exception }));
  }
  const code = codeOfStatus(status);
  if (status === 503) return serviceUnavailable(exception, ownMessage(exception));
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
  const { code, message: original = '' } = (exception.cause ??
    {}) as Partial<NodeJS.ErrnoException>;
  // A feature that catches an error of multer may have set a message of its own.
  const ofUpload = UPLOAD_MESSAGES.get(message.startsWith(original) ? (code ?? message) : message);
  if (ofUpload !== undefined) return ofUpload;
  const reason = STATUS_CODES[exception.getStatus()] ?? '';
  // NestJS shortens the reason of 421.
  const isDefault = [reason.toLowerCase(), 'misdirected'].includes(message.toLowerCase());
  return isDefault || NEST_MESSAGES.some((nest) => nest.test(message)) ? undefined : message;
}
