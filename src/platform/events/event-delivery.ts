import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { MINUTE_MS, SECOND_MS } from '../config/clock.js';
import { type EventHandler, Events } from './events.js';
import { type ClaimedEvent, EventsRepository } from './events.repository.js';

/** How long after its handler's time limit an event stays claimed, to store the result. */
const LEASE_MARGIN_MS = 30_000;
const MAX_DELAY_MS = 60 * MINUTE_MS;
/** How long a handler gets no events after the database has failed. */
const FAILURE_PAUSE_MS = 10_000;

/**
 * Delivers published events to their handlers, at least once. Each replica runs one event of a
 * handler at a time, so a slow handler delays only its own events. A replica claims an event for
 * longer than its handler may take. A handler that ignores its signal can overlap with the next
 * attempt. After a crash, the event is due again when the claim ends.
 */
@Injectable()
export class EventDelivery implements OnModuleDestroy {
  private readonly logger = new Logger(EventDelivery.name);
  private readonly stopping = new AbortController();
  private readonly running = new Map<EventHandler, Promise<void>>();
  /** The number of attempts by outcome. */
  readonly attempts = { handled: 0, failed: 0, parked: 0 };

  constructor(
    private readonly events: Events,
    private readonly repository: EventsRepository,
  ) {}

  /** Starts each idle handler on its due events. */
  @Interval(SECOND_MS)
  deliver(): void {
    for (const handler of this.events.handlers) {
      if (this.running.has(handler)) continue;
      const run = this.deliverDue(handler).finally(() => this.running.delete(handler));
      this.running.set(handler, run);
    }
  }

  /** Each handler ends or reaches its time limit. */
  async onModuleDestroy(): Promise<void> {
    this.stopping.abort();
    await Promise.all(this.running.values());
  }

  /** Runs the due events of a handler, one after another. Logs an error of the database. */
  private async deliverDue(handler: EventHandler): Promise<void> {
    const { signal } = this.stopping;
    try {
      while (!signal.aborted) {
        const event = await this.repository.claim(handler.id, handler.timeoutMs + LEASE_MARGIN_MS);
        if (!event) return;
        await this.handle(handler, event);
      }
    } catch (err) {
      this.logger.warn({ msg: 'events cannot be delivered', handler: handler.id, err });
      await delay(FAILURE_PAUSE_MS, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  private async handle(handler: EventHandler, event: ClaimedEvent): Promise<void> {
    const stop = this.stopping.signal;
    const timeout = AbortSignal.timeout(handler.timeoutMs);
    try {
      stop.throwIfAborted();
      // The last attempt has stored no result, for example because the process crashed.
      if (event.attempts > handler.maxAttempts)
        throw new Error('The last attempt was interrupted.');
      const signal = AbortSignal.any([stop, timeout]);
      await Promise.race([
        handler.handle(JSON.parse(event.payload), signal),
        once(timeout, 'abort').then(() => timeout.throwIfAborted()),
      ]);
    } catch (err) {
      // A handler that the service has interrupted has not failed.
      if (stop.aborted) return this.repository.retry(event, 0, { attempts: event.attempts - 1 });
      const isLast = event.attempts >= handler.maxAttempts;
      const msg = isLast ? 'event parked: all attempts have failed' : 'event handler failed';
      const line = { msg, eventId: String(event.id), event: event.event, handler: handler.id, err };
      this.logger[isLast ? 'error' : 'warn'](line);
      this.attempts[isLast ? 'parked' : 'failed']++;
      const delayMs = Math.min(SECOND_MS * 2 ** event.attempts, MAX_DELAY_MS);
      // At random, so that events that failed together are not repeated together.
      const nextMs = isLast ? null : delayMs * (0.5 + Math.random() / 2);
      return this.repository.retry(event, nextMs, { lastError: String(err).slice(0, 1_000) });
    }
    this.attempts.handled++;
    await this.repository.delete(event);
  }
}
