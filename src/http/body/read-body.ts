import { MAX_BODY_BYTES, PUBLIC_MESSAGES } from '../../errors/public-messages.js';
import { ServiceError } from '../../errors/service-error.js';
import { type ContentCoding, type Decompression, payloadTooLarge } from './decompression.js';
import { hasBody } from '../request/request-context.js';
import type { Request, Response } from '../request/request.js';

const CONTENT_CODINGS: readonly ContentCoding[] = ['gzip', 'br'];

/**
 * `application/json` (RFC 9110, section 8.3.1) without charset or with utf-8. Other parameters are
 * allowed. No text can match in two ways, so that matching takes linear time.
 */
const JSON_MEDIA_TYPE =
  /^application\/json[\t ]*(?:;[\t ]*(?:(?:charset=(?:utf-8|"utf-8")|(?!charset=)[^\s;="]+=(?:[^\s;="]+|"(?:[^"\\]|\\.)*"))[\t ]*)?)*$/i;

/**
 * Reads and decompresses the JSON body of a request. Returns undefined when there is none.
 *
 * @throws ServiceError unsupported_media_type, payload_too_large or malformed_json
 */
export async function readJsonBody(
  request: Request,
  response: Response,
  decompression: Decompression,
): Promise<Buffer | undefined> {
  if (!hasBody(request)) return undefined;
  const coding = contentCoding(request);
  if (Number(request.headers['content-length']) > MAX_BODY_BYTES) throw payloadTooLarge();
  if (request.expectsContinue) response.writeContinue();
  const bytes = await readBytes(request);
  if (bytes.length === 0) return undefined;
  return coding ? decompression.decompress(coding, bytes, request.callerId) : bytes;
}

function contentCoding(request: Request): ContentCoding | undefined {
  if (!JSON_MEDIA_TYPE.test(request.headers['content-type'] ?? '')) {
    throw new ServiceError('unsupported_media_type', PUBLIC_MESSAGES.unsupportedContentType);
  }
  const header = request.headers['content-encoding']?.toLowerCase();
  if (!header) return undefined;
  const coding = CONTENT_CODINGS.find((supported) => supported === header);
  if (coding === undefined) {
    throw new ServiceError(
      'unsupported_media_type',
      'The Content-Encoding of the request body must be gzip or br, or absent.',
      { headers: { 'Accept-Encoding': CONTENT_CODINGS.join(', ') } },
    );
  }
  return coding;
}

/** After one of these events, no more of a body arrives. */
const END_EVENTS = ['end', 'error', 'close', 'bodyFailure'];

async function readBytes(request: Request): Promise<Buffer> {
  if (request.bodyFailure) throw request.bodyFailure;
  // A small body often arrives together with the head.
  if (request.complete && request.readableLength <= MAX_BODY_BYTES) {
    return (request.read() as Buffer | null) ?? Buffer.alloc(0);
  }
  return new Promise((resolve, reject) => {
    // One buffer for all chunks: a chunk of one byte takes 400 bytes.
    let bytes = Buffer.alloc(0);
    let length = 0;
    const onData = (chunk: Buffer) => {
      const end = length + chunk.length;
      if (end > MAX_BODY_BYTES) return settle(payloadTooLarge());
      if (end > bytes.length)
        bytes = Buffer.concat([bytes], Math.min(Math.max(end, 2 * bytes.length), MAX_BODY_BYTES));
      chunk.copy(bytes, length);
      length = end;
    };
    const settle = (error?: Error) => {
      request.off('data', onData);
      for (const event of END_EVENTS) request.off(event, settle);
      if (request.readableEnded) resolve(bytes.subarray(0, length));
      else reject(error instanceof ServiceError ? error : aborted(error));
    };
    request.on('data', onData);
    for (const event of END_EVENTS) request.on(event, settle);
  });
}

/** The client disconnected while it was sending the body. Only the log shows this error. */
function aborted(cause: unknown): ServiceError {
  return new ServiceError('invalid_request', 'The request body ended early.', { cause });
}
