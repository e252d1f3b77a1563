import type { Server } from 'node:http';

/** How many requests start per event-loop tick while connections arrive. */
const REQUESTS_PER_TICK = 2;

/**
 * Keeps event-loop ticks short while clients connect. Node accepts one connection per tick (libuv, since 1.45), so
 * among ticks that each start hundreds of requests, a thousand connections would take many seconds to be accepted, and
 * a health probe behind them as long. While connections arrive, requests start a few per tick, in their order.
 */
export class Arrivals {
  private isArriving = false;
  private hasAccepted = false;
  private readonly waiting: (() => void)[] = [];

  /** Watches a server for new connections. */
  attach(server: Server): void {
    server.on('connection', () => {
      this.hasAccepted = true;
      if (this.isArriving) return;
      this.isArriving = true;
      setImmediate(this.endTick);
    });
  }

  /** Starts a request: at once, or within the next ticks while connections arrive. */
  start(request: () => void): void {
    if (this.isArriving) this.waiting.push(request);
    else request();
  }

  private readonly endTick = (): void => {
    const { hasAccepted } = this;
    this.hasAccepted = false;
    this.isArriving = hasAccepted;
    const started = this.waiting.splice(0, hasAccepted ? REQUESTS_PER_TICK : Infinity);
    // A tick without a new connection ends the arrival.
    if (hasAccepted) setImmediate(this.endTick);
    for (const start of started) start();
  };
}
