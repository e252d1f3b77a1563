import { Injectable } from '@nestjs/common';
import { EntityManager } from 'typeorm';
import { queryRows } from '../database/sql.js';
import { OutboxEvent } from './outbox-event.entity.js';

/** No other replica gets the row until the lease ends. The ctid is stable while it is locked. */
const CLAIM = `
  UPDATE outbox_events
     SET attempts = attempts + 1, next_attempt_at = now() + $2 * interval '1 millisecond'
   WHERE ctid = (
           SELECT ctid FROM outbox_events
            WHERE handler = $1 AND next_attempt_at <= now()
            ORDER BY next_attempt_at LIMIT 1 FOR UPDATE SKIP LOCKED)
  RETURNING id, event, payload, attempts::int`;

/** An event whose handler has been started at least once. */
export type ClaimedEvent = Pick<OutboxEvent, 'id' | 'event' | 'payload' | 'attempts'>;

/** Stores events until they are handled. Times are on the clock of PostgreSQL. */
@Injectable()
export class EventsRepository {
  constructor(private readonly manager: EntityManager) {}

  /** Starts an attempt of an event that is due, if there is one. @param leaseMs its longest duration */
  async claim(handler: string, leaseMs: number): Promise<ClaimedEvent | undefined> {
    return (await queryRows<ClaimedEvent>(this.manager, CLAIM, [handler, leaseMs]))[0];
  }

  async delete({ id }: ClaimedEvent): Promise<void> {
    await this.manager.delete(OutboxEvent, { id });
  }

  /** Ends an attempt without success, unless another one has started. @param delayMs null: parks it */
  async retry(
    { id, attempts }: ClaimedEvent,
    delayMs: number | null,
    changes: Partial<OutboxEvent>,
  ): Promise<void> {
    const next = delayMs === null ? null : () => `now() + ${delayMs} * interval '1 millisecond'`;
    await this.manager.update(OutboxEvent, { id, attempts }, { ...changes, nextAttemptAt: next });
  }
}
