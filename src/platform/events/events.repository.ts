import { Injectable } from '@nestjs/common';
import { EntityManager } from 'typeorm';
import { changeRows, queryRows } from '../database/sql.js';
import type { OutboxEvent } from './outbox-event.entity.js';

const ADD = `
  INSERT INTO outbox_events (event, payload, trace_parent, handler)
  SELECT $1, $2, $3, unnest($4::text[])`;

/** No other replica gets the row until the lease ends. The ctid is stable while it is locked. */
const CLAIM = `
  UPDATE outbox_events
     SET attempts = attempts + 1, next_attempt_at = now() + $2 * interval '1 millisecond'
   WHERE ctid = (
           SELECT ctid FROM outbox_events
            WHERE handler = $1 AND next_attempt_at <= now()
            ORDER BY next_attempt_at LIMIT 1 FOR UPDATE SKIP LOCKED)
  RETURNING id, event, handler, payload, attempts, trace_parent AS "traceParent"`;

/** Changes nothing if the lease has ended and another attempt has started. */
const RETRY = `
  UPDATE outbox_events
     SET next_attempt_at = now() + $3 * interval '1 millisecond', last_error = $4
   WHERE id = $1 AND attempts = $2`;

const RELEASE = `
  UPDATE outbox_events SET next_attempt_at = now(), attempts = attempts - 1
   WHERE id = $1 AND attempts = $2`;

const DELETE_OLD = `
  DELETE FROM outbox_events
   WHERE ctid = ANY (ARRAY(
           SELECT ctid FROM outbox_events
            WHERE created_at < now() - $1 * interval '1 millisecond'
            LIMIT $2 FOR UPDATE SKIP LOCKED))
  RETURNING handler`;

/** An event whose handler has been started at least once. */
export type ClaimedEvent = Omit<OutboxEvent, 'nextAttemptAt' | 'lastError' | 'createdAt'>;

/** Stores events until they are handled. Times are on the clock of PostgreSQL. */
@Injectable()
export class EventsRepository {
  constructor(private readonly manager: EntityManager) {}

  /** Adds an event for each handler, in the given transaction. */
  async add(
    transaction: EntityManager,
    { event, payload, traceParent }: Pick<OutboxEvent, 'event' | 'payload' | 'traceParent'>,
    handlers: readonly string[],
  ): Promise<void> {
    await queryRows(transaction, ADD, [event, payload, traceParent, handlers]);
  }

  /** Starts an attempt of an event that is due, if there is one. @param leaseMs its longest duration */
  async claim(handler: string, leaseMs: number): Promise<ClaimedEvent | undefined> {
    const [event] = await queryRows<ClaimedEvent>(this.manager, CLAIM, [handler, leaseMs]);
    return event;
  }

  async delete({ id }: ClaimedEvent): Promise<void> {
    await changeRows(this.manager, 'DELETE FROM outbox_events WHERE id = $1', [id]);
  }

  /** Ends a failed attempt. @param delayMs until the next one; null parks the event */
  async retry(
    { id, attempts }: ClaimedEvent,
    delayMs: number | null,
    error: string,
  ): Promise<void> {
    await changeRows(this.manager, RETRY, [id, attempts, delayMs, error]);
  }

  /** Ends an attempt that the service interrupted. It does not count. */
  async release({ id, attempts }: ClaimedEvent): Promise<void> {
    await changeRows(this.manager, RELEASE, [id, attempts]);
  }

  /** Deletes up to `limit` events that are older. Returns their handlers. */
  async deleteOlderThan(ageMs: number, limit: number): Promise<string[]> {
    const rows = await queryRows<{ handler: string }>(this.manager, DELETE_OLD, [ageMs, limit]);
    return rows.map(({ handler }) => handler);
  }
}
