import type { Socket } from 'node:net';

type Writev = NonNullable<Socket['_writev']>;

interface Held {
  socket: Socket;
  chunks: Parameters<Writev>[0];
  done: Parameters<Writev>[1];
}

/**
 * Holds the answers of one turn of the event loop until its end, and writes them one right after the other. The first
 * wakes the client, or the proxy, and finds it awake from then on: a write that has to wake its reader costs several
 * times as much. A refusal takes a fifth less.
 */
export class BatchedWrites {
  private held: Held[] = [];

  /** Holds what is written on a connection from now on in pieces (a head and a body). */
  hold(socket: Socket): void {
    socket._writev = (chunks, done) => {
      if (this.held.push({ socket, chunks, done }) === 1) setImmediate(() => this.flush());
    };
  }

  /** Writes at once what is held. */
  flush(): void {
    const { held } = this;
    this.held = [];
    for (const { socket, chunks, done } of held) {
      (Object.getPrototypeOf(socket) as Socket)._writev?.call(socket, chunks, done);
    }
  }
}
