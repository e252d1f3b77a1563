import { gzipSync } from 'node:zlib';
import type { RequestHandler } from 'express';
import { entityTag } from '../response/send-json.js';

/**
 * Returns a handler that sends a text, compressed if the client accepts gzip. The response is 304
 * if the client already has the text.
 *
 * @param type the media type
 */
export function textSender(type: string, text: string): RequestHandler {
  const plain = Buffer.from(text);
  const compressed = gzipSync(plain);
  // Weak, because both encodings have it.
  const tag = `W/${entityTag(plain)}`;
  return (request, response) => {
    const acceptsGzip = request.acceptsEncodings('gzip') !== false;
    if (acceptsGzip) response.setHeader('Content-Encoding', 'gzip');
    response.setHeader('Content-Type', type);
    response.setHeader('ETag', tag);
    response.setHeader('Cache-Control', 'no-cache');
    response.vary('Accept-Encoding');
    response.send(acceptsGzip ? compressed : plain);
  };
}
