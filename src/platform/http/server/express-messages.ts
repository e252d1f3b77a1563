import { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import express from 'express';
import { ServiceError } from '../../errors/service-error.js';
import { ignoreInput } from '../request/input.js';
import type { Request, Response } from '../request/request.js';
import type { RequestState } from '../request/request-state.js';

/** Chunks of a body with `Transfer-Encoding: chunked`. */
const MAX_CHUNKS = 256;
const TOO_MANY_CHUNKS = `The request body must not have more than ${MAX_CHUNKS} chunks.`;

/**
 * Creates requests and responses with Express's prototypes. Express otherwise replaces the
 * prototype of each message that it handles. This saves a large part of the CPU of every request on
 * Node.js 20, where V8 does not optimize objects whose prototype has changed (docs/performance.md). It
 * relies on `app.request` and `app.response`, the documented prototypes of an Express application,
 * and on Express setting exactly these, so that setting them again changes nothing. If an Express
 * release sets other prototypes, the service becomes slower and stays correct: create the server
 * without these classes then, and call `beforeHead` from a patched `writeHead`.
 *
 * @param beforeHead called before the head of each response is written
 * @returns the application, and the classes with which its HTTP server creates messages
 */
export function createExpressMessages(beforeHead: (response: Response) => void) {
  const app = express();
  class ExpressRequest extends IncomingMessage {
    private chunks = 0;

    // Node passes each chunk of the body to it, and null at the end.
    override push(chunk: Buffer | null): boolean {
      if (chunk === null || ++this.chunks <= MAX_CHUNKS) return super.push(chunk);
      if (this.headers['transfer-encoding'] === undefined) return super.push(chunk);
      const request = this as unknown as Request;
      request.state.bodyFailure ??= new ServiceError('payload_too_large', TOO_MANY_CHUNKS);
      ignoreChunks(this.socket);
      // Otherwise, the end of the stream closes the connection before the response.
      request.complete = true;
      ignoreInput(request);
      return super.push(null);
    }
  }
  class ExpressResponse<Message extends IncomingMessage> extends ServerResponse<Message> {
    // Node also calls it for a response whose head the handler did not write.
    override writeHead(status: number, ...head: unknown[]): this {
      this.statusCode = status;
      beforeHead(this as unknown as Response);
      return super.writeHead(status, ...(head as []));
    }
  }
  Object.setPrototypeOf(ExpressRequest.prototype, app.request);
  Object.setPrototypeOf(ExpressResponse.prototype, app.response);
  app.request = ExpressRequest.prototype as unknown as typeof app.request;
  app.response = ExpressResponse.prototype as unknown as typeof app.response;
  return { app, IncomingMessage: ExpressRequest, ServerResponse: ExpressResponse };
}

/** The value by which a handler of Node's HTTP parser makes it ignore the rest of what it has read. */
const IGNORE_REST = 2;

/** The members of Node's HTTP parser that this file uses. `kOnBody` is the name of a callback. */
interface Parser {
  onIncoming: (request: Request, keepsAlive: boolean) => number;
  constructor: { readonly kOnBody: number };
  [callback: number]: unknown;
}

// Makes Node's HTTP parser ignore input that the service rejects, within the bytes that it has read.
// A promise of the contract depends on it: the parser calls JavaScript for each chunk of a body and
// each request, so that 64 KiB of small ones would occupy the event loop for 20 ms before a guard
// rejects the request.
// It relies on `socket.parser.onIncoming`, which Node calls for each head and whose result decides
// about the body, and on `kOnBody`, which names the callback for a chunk.
// If a Node release changes them, test/platform/http/body/chunked-bodies.test.ts fails, and responses stay
// correct: look for their new names in `lib/_http_server.js` and `lib/_http_common.js`.

/** Ignores what follows the head of a request whose input is ignored, on a new connection. */
export function watchParser(socket: Socket): void {
  const parser = parserOf(socket);
  const { onIncoming } = parser;
  parser.onIncoming = (request, keepsAlive) => {
    const result = onIncoming(request, keepsAlive);
    // CONNECT has no state, because no step handles it.
    const state = request.state as RequestState | undefined;
    return state?.isInputIgnored ? IGNORE_REST : result;
  };
}

/** Ignores the rest of a body within what the parser has read. */
function ignoreChunks(socket: Socket): void {
  const parser = parserOf(socket);
  const { kOnBody } = parser.constructor;
  const onBody = parser[kOnBody];
  if (onBody === undefined) return;
  parser[kOnBody] = undefined;
  // Before any other input, because other connections use the parser after this one.
  setImmediate(() => (parser[kOnBody] = onBody));
}

function parserOf(socket: Socket): Parser {
  return (socket as Socket & { parser: Parser }).parser;
}
