import {
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
} from '@nestjs/common';
import { DAY_MS, MINUTE_MS, SECOND_MS } from '../config/clock.js';
import { Settings } from '../config/settings.js';
import { BackgroundJob } from '../jobs/background-jobs.js';
import { type EventHandler, EventHandlers } from './event-handlers.js';
import { parsePayload } from './event-payload.js';
import { type ClaimedEvent, EventsRepository } from './events.repository.js';

/** How long an event waits at most, on average half of it, while a replica is idle. */
const POLL_INTERVAL_MS = SECOND_MS;
/** The part of the connection pool that handlers can occupy, if each uses one connection. */
const POOL_SHARE = 1 / 3;
/** How long after its handler's time limit an event stays claimed, to store the result. */
const LEASE_MARGIN_MS = 30_000;
const MAX_DELAY_MS = 60 * MINUTE_MS;
/** Events that are older are deleted, whatever their state, while the application has handlers. */
const MAX_AGE_MS = 30 * DAY_MS;
const DELETE_BATCH = 1_000;
const MAX_ERROR_LENGTH = 1_000;

/**
 * Delivers published events to their handlers, at least once. A replica claims an event for longer
 * than its handler may take, so that no other replica runs it at the same time. A handler that
 * ignores its signal can overlap with the next attempt. After a crash, the event is due again when
 * the claim ends. docs/decisions/0014 compares the alternatives.
 */
@Injectable()
export class EventDelivery implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger(EventDelivery.name);
  private readonly delivering = new Map<Promise<void>, AbortController>();
  private readonly concurrency: number;
  private readonly jobs = [
    new BackgroundJob(EventDelivery.name, POLL_INTERVAL_MS, (stop) => this.deliverDue(stop)),
    new BackgroundJob(EventDelivery.name, 60 * MINUTE_MS, (stop) => this.deleteOld(stop)),
  ];
  private readonly stopping = new AbortController();
  /** The number of attempts by outcome. */
  readonly attempts = { handled: 0, failed: 0, parked: 0 };

  constructor(
    private readonly handlers: EventHandlers,
    private readonly repository: EventsRepository,
    { database }: Settings,
  ) {
    this.concurrency = Math.max(1, Math.floor(database.poolSize * POOL_SHARE));
  }

  /** Without a handler, no job runs. */
  onApplicationBootstrap(): void {
    if (this.handlers.ids.length === 0) return;
    for (const job of this.jobs) job.start();
  }

  /** Aborts the running handlers, and waits until each ends or reaches its time limit. */
  async onModuleDestroy(): Promise<void> {
    const reason = new Error('The service is stopping.');
    this.stopping.abort(reason);
    for (const controller of this.delivering.values()) controller.abort(reason);
    await Promise.all(this.jobs.map((job) => job.stop()));
    await Promise.all(this.delivering.keys());
  }

  /** Starts due events while there is room for one. Then the next run continues. */
  private async deliverDue(stop: AbortSignal): Promise<void> {
    const leaseMs = this.handlers.maxTimeoutMs + LEASE_MARGIN_MS;
    while (!stop.aborted && this.delivering.size < this.concurrency) {
      const room = this.concurrency - this.delivering.size;
      const events = await this.repository.claim(this.handlers.ids, room, leaseMs);
      for (const event of events) this.start(event);
      if (events.length < room) return;
      await Promise.race(this.delivering.keys());
    }
  }

  private start(event: ClaimedEvent): void {
    const controller = new AbortController();
    const delivery = this.deliver(event, controller)
      .catch((error: unknown) => {
        this.logger.warn({ msg: 'result of an event not stored', ...labels(event), err: error });
      })
      .finally(() => this.delivering.delete(delivery));
    this.delivering.set(delivery, controller);
  }

  private async deliver(event: ClaimedEvent, controller: AbortController): Promise<void> {
    const handler = this.handlers.get(event.handler);
    if (!handler) return this.repository.release(event);
    try {
      this.stopping.signal.throwIfAborted();
      await attempt(handler, event, controller);
    } catch (error) {
      // A handler that the service has interrupted has not failed.
      if (this.stopping.signal.aborted) return this.repository.release(event);
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

/** Calls the handler. @throws its error, or one if it exceeds its time limit */
async function attempt(
  handler: EventHandler,
  event: ClaimedEvent,
  controller: AbortController,
): Promise<void> {
  // The last allowed attempt started but stored no result, for example because the process crashed.
  if (event.attempts > handler.maxAttempts) throw new Error('The last attempt was interrupted.');
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      const error = new Error(`The handler took longer than ${handler.timeoutMs} ms.`);
      controller.abort(error);
      reject(error);
    }, handler.timeoutMs);
  });
  try {
    await Promise.race([handler.handle(parsePayload(event.payload), controller.signal), timeout]);
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
