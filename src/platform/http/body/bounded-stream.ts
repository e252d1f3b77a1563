import type { Readable } from 'node:stream';
import { MAX_BODY_BYTES } from '../../config/bounds.js';
import type { ServiceError } from '../../errors/service-error.js';
import type { Request } from '../request/request.js';
import { sendError } from '../response/send-json.js';
import type { ArrivingBodies } from './arriving-bodies.js';
import { declaresTooMuch, payloadTooLarge } from './read-body.js';

/**
 * Bounds a body that a handler or middleware may read from the request as a stream. Over a limit,
 * the service sends the error itself and passes no further chunk on. The connection then closes,
 * which ends the stream with an error.
 *
 * @throws ServiceError payload_too_large if the Content-Length is over MAX_BODY_BYTES
 */
export function boundStream(request: Request, arriving: ArrivingBodies): void {
  const { res: response, callerId } = request;
  if (!response) return;
  const arrived = request.readableLength;
  if (declaresTooMuch(request) || arrived > MAX_BODY_BYTES) throw payloadTooLarge();
  if (request.expectsContinue) response.writeContinue();
  if (request.complete) return;
  let size = arrived;
  let isCut = false;
  response.once('close', () => arriving.release(callerId, size - arrived));
  const push: Readable['push'] = request.push.bind(request);
  request.push = (chunk: Buffer | null) => {
    // Node discards the rest of the body after the response.
    if (chunk === null || response.writableEnded) return !isCut && push(chunk);
    try {
      if (size + chunk.length > MAX_BODY_BYTES) throw payloadTooLarge();
      arriving.hold(callerId, chunk.length);
      size += chunk.length;
      return push(chunk);
    } catch (error) {
      isCut = true;
      sendError(response, error as ServiceError);
      return false;
    }
  };
}
