import {
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
} from '@nestjs/common';
import { DAY_MS, MINUTE_MS, SECOND_MS } from '../config/clock.js';
import { BackgroundJob } from '../jobs/background-jobs.js';
import { traceEvent } from '../tracing/spans.js';
import { type EventHandler, EventHandlers } from './event-handlers.js';
import { parsePayload } from './event-payload.js';
import { type ClaimedEvent, EventsRepository } from './events.repository.js';

/** How long an event waits at most, on average half of it, while its handler is idle. */
const POLL_INTERVAL_MS = SECOND_MS;
/** How long after its handler's time limit an event stays claimed, to store the result. */
const LEASE_MARGIN_MS = 30_000;
const MAX_DELAY_MS = 60 * MINUTE_MS;
/** Events that are older are deleted, whatever their state, while the application has handlers. */
const MAX_AGE_MS = 30 * DAY_MS;
const DELETE_BATCH = 1_000;
const MAX_ERROR_LENGTH = 1_000;

/**
 * Delivers published events to their handlers, at least once. Each replica runs one event of a
 * handler at a time, so a slow handler delays only its own events. A replica claims an event for
 * longer than its handler may take, so that no other replica runs it at the same time. A handler
 * that ignores its signal can overlap with the next attempt. After a crash, the event is due again
 * when the claim ends. docs/decisions/0014 compares the alternatives.
 */
@Injectable()
export class EventDelivery implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger(EventDelivery.name);
  private jobs: BackgroundJob[] = [];
  /** The number of attempts by outcome. */
  readonly attempts = { handled: 0, failed: 0, parked: 0 };

  constructor(
    private readonly handlers: EventHandlers,
    private readonly repository: EventsRepository,
  ) {}

  /** Without a handler, no job runs. */
  onApplicationBootstrap(): void {
    if (this.handlers.all.length === 0) return;
    const job = (intervalMs: number, work: (stop: AbortSignal) => Promise<void>) =>
      new BackgroundJob(EventDelivery.name, intervalMs, work);
    this.jobs = this.handlers.all.map((handler) =>
      job(POLL_INTERVAL_MS, (stop) => this.deliverDue(handler, stop)),
    );
    this.jobs.push(job(60 * MINUTE_MS, (stop) => this.deleteOld(stop)));
    for (const each of this.jobs) each.start();
  }

  /** Aborts the running handlers, and waits until each ends or reaches its time limit. */
  async onModuleDestroy(): Promise<void> {
    await Promise.all(this.jobs.map((job) => job.stop()));
  }

  /** Runs the due events of a handler, one after another. */
  private async deliverDue(handler: EventHandler, stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      const event = await this.repository.claim(handler.id, handler.timeoutMs + LEASE_MARGIN_MS);
      if (!event) return;
      await this.deliver(handler, event, stop);
    }
  }

  private async deliver(
    handler: EventHandler,
    event: ClaimedEvent,
    stop: AbortSignal,
  ): Promise<void> {
    try {
      stop.throwIfAborted();
      await traceEvent(handler.id, event.traceParent, () => attempt(handler, event, stop));
    } catch (error) {
      // A handler that the service has interrupted has not failed.
      if (stop.aborted) return this.repository.release(event);
      return this.recordFailure(handler, event, error);
    }
    this.attempts.handled++;
    await this.repository.delete(event);
  }

  private async recordFailure(
    { maxAttempts }: EventHandler,
    event: ClaimedEvent,
    error: unknown,
  ): Promise<void> {
    const isParked = event.attempts >= maxAttempts;
    const line = { ...labels(event), attempt: event.attempts, err: error };
    if (isParked) this.logger.error({ msg: 'event parked: all attempts have failed', ...line });
    else this.logger.warn({ msg: 'event handler failed', ...line });
    this.attempts[isParked ? 'parked' : 'failed']++;
    const delayMs = isParked ? null : delayAfter(event.attempts);
    await this.repository.retry(event, delayMs, String(error).slice(0, MAX_ERROR_LENGTH));
  }

  private async deleteOld(stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      const deleted = await this.repository.deleteOlderThan(MAX_AGE_MS, DELETE_BATCH);
      if (deleted.length > 0) {
        this.logger.warn({
          msg: 'events deleted that were not handled within 30 days',
          events: deleted.length,
          handlers: [...new Set(deleted)],
        });
      }
      if (deleted.length < DELETE_BATCH) return;
    }
  }
}

/**
 * Calls the handler. Its signal is aborted when the time limit expires or the service stops.
 *
 * @throws its error, or one if it exceeds its time limit
 */
async function attempt(
  handler: EventHandler,
  { attempts, payload }: ClaimedEvent,
  stop: AbortSignal,
): Promise<void> {
  const { maxAttempts, timeoutMs } = handler;
  // The last allowed attempt started but stored no result, for example because the process crashed.
  if (attempts > maxAttempts) throw new Error('The last attempt was interrupted.');
  const timeout = new AbortController();
  const expiry = new Promise<never>((_resolve, reject) => {
    timeout.signal.addEventListener('abort', () => reject(timeout.signal.reason as Error));
  });
  const error = new Error(`The handler took longer than ${timeoutMs} ms.`);
  const timer = setTimeout(() => timeout.abort(error), timeoutMs);
  try {
    const signal = AbortSignal.any([stop, timeout.signal]);
    await Promise.race([handler.handle(parsePayload(payload), signal), expiry]);
  } finally {
    clearTimeout(timer);
  }
}

/** Returns 1 to 2 seconds, doubled with each attempt up to an hour, at random. */
function delayAfter(attempts: number): number {
  return Math.min(SECOND_MS * 2 ** attempts, MAX_DELAY_MS) * (0.5 + Math.random() / 2);
}

function labels({ id, event, handler }: ClaimedEvent): object {
  return { eventId: id.toString(), event, handler };
}
