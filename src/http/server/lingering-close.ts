import type { Socket } from 'node:net';
import { hasBody } from '../request/request-context.js';
import type { Request, Response } from '../request/request.js';

const LINGER_MS = 2_000;
const LINGER_BYTES = 4 * 1024 * 1024;

/**
 * To be called before an answer is written. When the client is still sending a body that nobody will
 * read, the connection ends with this answer: else the server would swallow whatever comes. It ends
 * as RFC 9112, 9.6 asks for, in stages: closing at once would reset the connection, and the client
 * could lose the answer that it has not read yet.
 */
export function closeAfterUnreadBody(request: Request, response: Response): void {
  if (request.complete || !hasBody(request)) return;
  response.setHeader('Connection', 'close');
  const { socket } = request;
  // What the HTTP server calls once the last answer of a connection is out.
  socket.destroySoon = () => lingerThenDestroy(socket);
}

/** Ends the writing side, and reads on for a bounded time and amount until the client has closed. */
export function lingerThenDestroy(socket: Socket): void {
  const limit = socket.bytesRead + LINGER_BYTES;
  const deadline = setTimeout(() => socket.destroy(), LINGER_MS);
  // The HTTP parser must not make requests of what follows.
  socket.removeAllListeners('data');
  socket.on('data', () => {
    if (socket.bytesRead > limit) socket.destroy();
  });
  socket.once('end', () => socket.destroy());
  socket.once('close', () => clearTimeout(deadline));
  socket.end();
  socket.resume();
}
