import type { Socket } from 'node:net';
import type { Response } from '../request/request.js';

const LINGER_MS = 2_000;
const LINGER_BYTES = 4 * 1024 * 1024;

// Closes a connection in stages (RFC 9112, section 9.6), because an immediate close resets the
// connection and the client can lose the response.
// The contract requires this: a client receives the rejection of a body that it is still sending.
// It relies on `socket.destroySoon()`, which Node's HTTP server calls after the last response of a
// connection, and on the 'data' listener through which the HTTP parser reads.
// If a Node release stops calling `destroySoon`, test/platform/http/server/lingering-close.test.ts fails: call
// `lingerThenDestroy` on the 'finish' event of the response then.

/** Closes the connection in stages after this response, whose head may already be written. */
export function lingerAfterResponse(response: Response): void {
  const { socket } = response.req;
  const linger = (): void => lingerThenDestroy(socket);
  if (response.headersSent) {
    response.once('close', linger);
  } else {
    response.setHeader('Connection', 'close');
    socket.destroySoon = linger;
  }
}

/** Ends the writing side, and discards input up to a time and a size until the client closes. */
export function lingerThenDestroy(socket: Socket): void {
  if (socket.destroyed) return;
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
