import type { Socket } from 'node:net';

type Writev = NonNullable<Socket['_writev']>;

interface HeldWrite {
  socket: Socket;
  chunks: Parameters<Writev>[0];
  done: Parameters<Writev>[1];
}

/**
 * Holds the responses of one event-loop tick, and writes them one after the other when it ends.
 * This saves CPU in rejections: the first write wakes a sleeping client or proxy, and the writes
 * that follow at once are cheaper (see docs/performance.md). It relies on `socket._writev`, through
 * which Node writes a head and a body that were corked together; a property of the instance
 * overrides the method of the prototype. If a Node release stops calling `_writev`, responses are
 * written at once and stay correct: remove this class then, and `hold` and `flush` in
 * HttpAdapter.
 */
export class BatchedWrites {
  private held: HeldWrite[] = [];

  /** From now on, holds the writes of a socket that consist of several chunks. */
  hold(socket: Socket): void {
    socket._writev = (chunks, done) => {
      if (this.held.push({ socket, chunks, done }) === 1) setImmediate(() => this.flush());
    };
  }

  /** Writes all held responses now. */
  flush(): void {
    const { held } = this;
    this.held = [];
    for (const { socket, chunks, done } of held) {
      (Object.getPrototypeOf(socket) as Socket)._writev?.call(socket, chunks, done);
    }
  }
}
