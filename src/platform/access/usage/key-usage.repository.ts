import { Injectable } from '@nestjs/common';
import { EntityManager } from 'typeorm';
import { queryRows } from '../../database/sql.js';

/** An attempt whose connection broke can end after a later one, whose counts are not lower. */
const SAVE = `
  INSERT INTO api_key_usage AS stored (day, key_id, counter, requests, rejections)
  SELECT 'epoch'::date + day, key_id, counter, requests, rejections
    FROM unnest($1::int[], $2::bigint[], $3::uuid[], $4::bigint[], $5::bigint[])
      AS counted (day, key_id, counter, requests, rejections)
   ORDER BY day, key_id
      ON CONFLICT ON CONSTRAINT api_key_usage_pkey DO UPDATE
     SET requests = greatest(stored.requests, excluded.requests),
         rejections = greatest(stored.rejections, excluded.rejections)`;

/**
 * A use is stored to the minute, which may have begun before the API key was created. It waits for no
 * lock: another replica stores the same API keys, and a command changes them. Returns the locked ones.
 */
const SAVE_LAST_USED = `
  WITH used AS (SELECT * FROM unnest($1::bigint[], $2::timestamptz[]) AS used (id, at)),
  free AS (
    SELECT id, at FROM api_keys AS key JOIN used USING (id)
     WHERE coalesce(last_used_at, '-infinity') < at
     ORDER BY id FOR NO KEY UPDATE OF key SKIP LOCKED),
  saved AS (
    UPDATE api_keys SET last_used_at = greatest(at, created_at) FROM free WHERE api_keys.id = free.id)
  SELECT id FROM api_keys JOIN used USING (id)
   WHERE coalesce(last_used_at, '-infinity') < at AND id NOT IN (SELECT id FROM free)`;

/** By ctid, which is stable while rows are locked. */
const DELETE_BEFORE = `
  DELETE FROM api_key_usage
   WHERE ctid = ANY (ARRAY(
           SELECT ctid FROM api_key_usage
            WHERE day < 'epoch'::date + $1::int ORDER BY day LIMIT $2 FOR UPDATE SKIP LOCKED))
  RETURNING true`;

/** The requests that a counter has counted so far. */
export interface UsageCount {
  /** In UTC days since the Unix epoch. */
  readonly day: number;
  readonly keyId: bigint;
  readonly counter: string;
  requests: number;
  rejections: number;
}

/** When an API key was used, in milliseconds since the epoch. */
export type KeyUse = readonly [keyId: bigint, atMs: number];

/** Stores how often API keys are used, and when they were used last. */
@Injectable()
export class KeyUsageRepository {
  constructor(private readonly manager: EntityManager) {}

  /** Replaces lower counts of the same counters. Repeating it changes nothing. */
  async save(counts: readonly UsageCount[]): Promise<void> {
    const names = ['day', 'keyId', 'counter', 'requests', 'rejections'] as const;
    const columns = names.map((name) => counts.map((count) => count[name]));
    await queryRows(this.manager, SAVE, columns);
  }

  /**
   * Stores times that are later than the stored ones.
   * Returns the ids of API keys whose time is not stored, because another transaction locks them.
   */
  async saveLastUsed(uses: readonly KeyUse[]): Promise<Set<bigint>> {
    const values = [uses.map(([keyId]) => keyId), uses.map(([, atMs]) => new Date(atMs))];
    const locked = await queryRows<{ id: bigint }>(this.manager, SAVE_LAST_USED, values);
    return new Set(locked.map(({ id }) => id));
  }

  /** Deletes up to `limit` counts of earlier days that no other replica deletes. Returns whether there was one. */
  async deleteBefore(day: number, limit: number): Promise<boolean> {
    return (await queryRows(this.manager, DELETE_BEFORE, [day, limit])).length > 0;
  }
}
