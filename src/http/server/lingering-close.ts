import type { Socket } from 'node:net';
import { hasBody } from '../request/request-context.js';
import type { Request, Response } from '../request/request.js';

const LINGER_MS = 2_000;
const LINGER_BYTES = 4 * 1024 * 1024;

// Closes a connection in stages (RFC 9112, section 9.6), because an immediate close resets the
// connection and the client can lose the response.
// It saves no CPU: the contract promises that a client receives the rejection of a body that it is
// still sending.
// It relies on `socket.destroySoon()`, which Node's HTTP server calls after the last response of a
// connection, and on the 'data' listener through which the HTTP parser reads.
// If a Node release stops calling it, test/http/lingering-close.test.ts fails: call
// `lingerThenDestroy` on the 'finish' event of the response then.

/**
 * Closes the connection after this response if the client is still sending a body that the service
 * does not read. Call it before the head of the response is written.
 */
export function closeAfterUnreadBody(request: Request, response: Response): void {
  if (request.complete || !hasBody(request)) return;
  response.setHeader('Connection', 'close');
  const { socket } = request;
  socket.destroySoon = () => lingerThenDestroy(socket);
}

/** Ends the writing side, and discards input up to a time and a size until the client closes. */
export function lingerThenDestroy(socket: Socket): void {
  const limit = socket.bytesRead + LINGER_BYTES;
  const deadline = setTimeout(() => socket.destroy(), LINGER_MS);
  // So that the HTTP parser does not treat the input as requests.
  socket.removeAllListeners('data');
  socket.on('data', () => {
    if (socket.bytesRead > limit) socket.destroy();
  });
  socket.once('end', () => socket.destroy());
  socket.once('close', () => clearTimeout(deadline));
  socket.end();
  socket.resume();
}
