import { PUBLIC_MESSAGES } from '../../errors/public-messages.js';
import { ServiceError } from '../../errors/service-error.js';
import { hasBody } from '../request/request-context.js';
import type { Request } from '../request/request.js';
import type { ArrivingBodies } from './arriving-bodies.js';

/** Returns whether the request uploads files (RFC 7578). */
export function isMultipart({ headers }: Request): boolean {
  return /^multipart\//i.test(headers['content-type'] ?? '');
}

/**
 * Reserves memory for the body of an upload, which an interceptor such as FileInterceptor reads.
 *
 * @throws ServiceError unsupported_media_type, invalid_request, payload_too_large or service_unavailable
 */
export function acceptUpload(request: Request, arriving: ArrivingBodies): void {
  if (!hasBody(request)) return;
  if (!isMultipart(request)) {
    throw new ServiceError('unsupported_media_type', PUBLIC_MESSAGES.unsupportedUploadType);
  }
  const length = Number(request.headers['content-length']);
  // Without it, the size is known only after the interceptor has stored the files.
  if (Number.isNaN(length)) {
    throw new ServiceError('invalid_request', 'An upload must have a Content-Length header.');
  }
  const release = arriving.holdUpload(length);
  request.res?.once('close', release);
  if (request.expectsContinue) request.res?.writeContinue();
}
