import { AsyncResource } from 'node:async_hooks';
import type { Server } from 'node:http';
import { isHealthProbe } from '../request/request-context.js';
import type { NextFunction, Request, Response } from '../request/request.js';

/** How many requests start per event-loop tick while connections arrive. */
const REQUESTS_PER_TICK = 2;

/**
 * Starts only a few requests per event-loop tick while clients connect, in the order of arrival.
 * This saves waiting time in a burst of connections: Node accepts one connection per tick, so each
 * request in a tick delays the clients that wait to connect, health probes included (see
 * docs/performance.md).
 * It relies on libuv 1.45 or later accepting one connection per tick, and on `setImmediate` running
 * once per tick.
 * If libuv accepts several connections per tick again, the delay has no benefit: remove this class.
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

  /** Calls `next` now or, while connections arrive, at the end of this tick or a later one. */
  start(request: Request, response: Response, next: NextFunction): void {
    if (!this.isArriving || isHealthProbe(request)) {
      next();
      return;
    }
    // Bound to the asynchronous context of the request, which tracing and the log need.
    const start = AsyncResource.bind(next);
    this.waiting.push(() => {
      if (!response.destroyed) start();
    });
  }

  private readonly endTick = (): void => {
    this.isArriving = this.hasAccepted;
    this.hasAccepted = false;
    const count = this.isArriving ? REQUESTS_PER_TICK : Infinity;
    const started = this.waiting.splice(0, count);
    if (this.isArriving) setImmediate(this.endTick);
    for (const start of started) start();
  };
}
