import { MAX_BODY_BYTES } from '../../config/bounds.js';
import { PUBLIC_MESSAGES } from '../../errors/public-messages.js';
import { ServiceError } from '../../errors/service-error.js';
import { hasBody } from '../request/request-context.js';
import type { Request } from '../request/request.js';
import type { ArrivingBodies } from './arriving-bodies.js';

/**
 * `application/json` (RFC 9110, section 8.3.1) without charset or with utf-8. Other parameters are
 * allowed. No text can match in two ways, so that matching takes linear time.
 */
const JSON_MEDIA_TYPE =
  /^application\/json[\t ]*(?:;[\t ]*(?:(?:charset=(?:utf-8|"utf-8")|(?!charset=)[^\s;="]+=(?:[^\s;="]+|"(?:[^"\\]|\\.)*"))[\t ]*)?)*$/i;

/**
 * Reads the JSON body of a request. Returns undefined when there is none.
 *
 * @throws ServiceError unsupported_media_type, payload_too_large or service_unavailable
 */
export async function readJsonBody(
  request: Request,
  arriving: ArrivingBodies,
): Promise<Buffer | undefined> {
  if (!hasBody(request)) return undefined;
  checkMediaType(request);
  if (declaresTooMuch(request)) throw payloadTooLarge();
  if (request.expectsContinue) request.res?.writeContinue();
  // A small body often arrives together with the head.
  const isComplete = request.complete && request.readableLength <= MAX_BODY_BYTES;
  const bytes = isComplete
    ? (request.read() as Buffer | null)
    : await receiveBytes(request, arriving);
  if (request.bodyFailure) throw request.bodyFailure;
  return bytes?.length ? bytes : undefined;
}

/** Returns whether the request has a JSON body that readJsonBody reads. */
export function isJson({ headers }: Request): boolean {
  return JSON_MEDIA_TYPE.test(headers['content-type'] ?? '');
}

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
  request.res?.once('close', arriving.holdUpload(length));
  if (request.expectsContinue) request.res?.writeContinue();
}

function checkMediaType(request: Request): void {
  const { headers } = request;
  if (!isJson(request)) {
    throw new ServiceError('unsupported_media_type', PUBLIC_MESSAGES.unsupportedContentType);
  }
  const coding = headers['content-encoding'] ?? '';
  if (coding === '' || coding.toLowerCase() === 'identity') return;
  // RFC 9110, section 15.5.16
  const acceptEncoding = { 'Accept-Encoding': 'identity' };
  const message = PUBLIC_MESSAGES.unsupportedContentEncoding;
  throw new ServiceError('unsupported_media_type', message, { headers: acceptEncoding });
}

async function receiveBytes(request: Request, arriving: ArrivingBodies): Promise<Buffer> {
  // One buffer for all chunks: a chunk of one byte takes 400 bytes.
  let bytes = Buffer.alloc(0);
  let length = 0;
  arriving.count++;
  try {
    // After an error, the connection stays open for the response.
    const chunks = request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
    for await (const chunk of chunks) {
      const end = length + chunk.length;
      if (end > MAX_BODY_BYTES) throw payloadTooLarge();
      arriving.hold(request.callerId, chunk.length);
      if (end > bytes.length)
        bytes = Buffer.concat([bytes], Math.min(Math.max(end, 2 * bytes.length), MAX_BODY_BYTES));
      chunk.copy(bytes, length);
      length = end;
    }
    return bytes.subarray(0, length);
  } catch (cause) {
    if (cause instanceof ServiceError) throw cause;
    // The client disconnected. Only the log shows this error.
    throw new ServiceError('invalid_request', 'The request body ended early.', { cause });
  } finally {
    arriving.count--;
    arriving.release(request.callerId, length);
  }
}

/** Returns whether the Content-Length is over MAX_BODY_BYTES. */
export function declaresTooMuch({ headers }: Request): boolean {
  return Number(headers['content-length']) > MAX_BODY_BYTES;
}

/** Returns the 413 for a body over MAX_BODY_BYTES. */
export function payloadTooLarge(): ServiceError {
  return new ServiceError('payload_too_large', PUBLIC_MESSAGES.payloadTooLarge(MAX_BODY_BYTES));
}
