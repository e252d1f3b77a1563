import type { Server } from 'node:http';

/** How many requests start per event-loop tick while connections arrive. */
const REQUESTS_PER_TICK = 2;

/**
 * Starts only a few requests per event-loop tick while clients connect, in the order of arrival.
 * This saves waiting time in a burst of connections: Node accepts one connection per tick, so each
 * request in a tick delays the clients that wait to connect, health probes included (see
 * docs/performance.md).
 * It relies on libuv 1.45 or later accepting one connection per tick, and on `setImmediate` running
 * once per tick.
 * If libuv accepts several connections per tick again, the delay has no benefit: remove this class
 * then, and let Connections call the request listener.
 */
export class Arrivals {
  private isArriving = false;
  private hasAccepted = false;
  private readonly waiting: (() => void)[] = [];

  /** Observes the new connections of a server. */
  attach(server: Server): void {
    server.on('connection', () => {
      this.hasAccepted = true;
      if (this.isArriving) return;
      this.isArriving = true;
      setImmediate(this.endTick);
    });
  }

  /** Starts a request now or, while connections arrive, at the end of this tick or a later one. */
  start(request: () => void): void {
    if (this.isArriving) this.waiting.push(request);
    else request();
  }

  private readonly endTick = (): void => {
    this.isArriving = this.hasAccepted;
    this.hasAccepted = false;
    const requests = this.waiting.splice(0, this.isArriving ? REQUESTS_PER_TICK : Infinity);
    if (this.isArriving) setImmediate(this.endTick);
    for (const start of requests) start();
  };
}
