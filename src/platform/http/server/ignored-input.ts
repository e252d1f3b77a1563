import type { Socket } from 'node:net';
import type { Request } from '../request/request.js';

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
// each request, so that 64 KiB of small ones would occupy the event loop for 20 ms (see
// docs/performance.md), before a guard rejects the request.
// It relies on `socket.parser.onIncoming`, which Node calls for each head and whose result decides
// about the body, and on `kOnBody`, which names the callback for a chunk.
// If a Node release changes them, test/bounds/chunked-bodies.test.ts fails, and responses stay
// correct: look for their new names in `lib/_http_server.js` and `lib/_http_common.js`.

/** Lets `ignoreInput` work for the requests of a new connection. */
export function watchParser(socket: Socket): void {
  const parser = parserOf(socket);
  const { onIncoming } = parser;
  parser.onIncoming = (request, keepsAlive) => {
    const result = onIncoming(request, keepsAlive);
    return request.ignoresInput ? IGNORE_REST : result;
  };
}

/**
 * Ignores the body of a request, and what follows it. The connection closes after the response. Call
 * it before the first asynchronous step.
 */
export function ignoreInput(request: Request): void {
  request.ignoresInput = true;
}

/** Ignores the rest of a body within what the parser has read. */
export function ignoreChunks(socket: Socket): void {
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
