import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import {
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
} from '@nestjs/common';
import { Clock, MINUTE_MS, SECOND_MS } from '../config/clock.js';
import { DatabaseLocation } from '../database/database-location.js';
import { IdlePause, RepeatedWork } from '../database/repeated-work.js';
import { type EventHandler, Events } from './events.js';
import { type ClaimedEvent, EventsRepository } from './events.repository.js';

/** How long after its handler's time limit an event stays claimed, to store the result. */
const LEASE_MARGIN_MS = 30_000;
const MAX_DELAY_MS = 60 * MINUTE_MS;
/** How often a handler looks for events that this process has published, and how long it waits after a failure. */
const TICK_MS = 1_000;
const FAILURE_PAUSE_MS = 10_000;
/** An event of another process is due no later than this. */
const MAX_IDLE_PAUSE_MS = 5_000;

/**
 * Delivers published events to their handlers, at least once. Each replica runs one event of a
 * handler at a time, so a slow handler delays only its own events. A replica claims an event for
 * longer than its handler may take. A handler that ignores its signal can overlap with the next
 * attempt. After a crash, the event is due again when the claim ends.
 */
@Injectable()
export class EventDelivery implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger(EventDelivery.name);
  private readonly stopping = new AbortController();
  private running: Promise<void>[] = [];
  /** The number of attempts by outcome. */
  readonly attempts = { handled: 0, failed: 0, parked: 0 };

  constructor(
    private readonly events: Events,
    private readonly repository: EventsRepository,
    private readonly location: DatabaseLocation,
    private readonly clock: Clock,
  ) {}

  /** In the service only. It also delivers what commands publish. */
  onApplicationBootstrap(): void {
    if (this.location.processKind === 'command') return;
    this.running = this.events.handlers.map((handler) => this.deliverTo(handler));
  }

  /** Waits for the attempts in progress. Those that the service does not wait for are repeated later. */
  async onModuleDestroy(): Promise<void> {
    this.stopping.abort();
    await Promise.all(this.running);
  }

  /** Runs the due events of a handler, one after another, until the service stops. */
  private async deliverTo(handler: EventHandler): Promise<void> {
    const { signal } = this.stopping;
    const work = new RepeatedWork(this.logger, this.clock, `Delivering events to ${handler.id}`);
    const pause = new IdlePause(this.clock, TICK_MS, MAX_IDLE_PAUSE_MS);
    let hadEvent: boolean | undefined = false;
    while (!signal.aborted) {
      // Before the claim, because it does not see what is committed meanwhile.
      const isPublished = this.events.committed.delete(handler.id);
      if (hadEvent || isPublished || pause.isOver) {
        hadEvent = await work.run(() => this.handleNext(handler));
        pause.begin(hadEvent === false);
      }
      if (hadEvent) continue;
      const pauseMs = hadEvent === undefined ? FAILURE_PAUSE_MS : TICK_MS;
      await delay(pauseMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  /** Runs the next due event. Returns whether there was one. */
  private async handleNext(handler: EventHandler): Promise<boolean> {
    const event = await this.repository.claim(handler.id, handler.timeoutMs + LEASE_MARGIN_MS);
    if (event) await this.handle(handler, event);
    return event !== undefined;
  }

  private async handle(handler: EventHandler, event: ClaimedEvent): Promise<void> {
    const stop = this.stopping.signal;
    const timeout = AbortSignal.timeout(handler.timeoutMs);
    try {
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
      const lastError = String(err).slice(0, 1_000);
      return this.repository.retry(event, isLast ? null : delayMs, { lastError });
    }
    this.attempts.handled++;
    await this.repository.delete(event);
  }
}
