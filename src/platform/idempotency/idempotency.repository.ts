import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { EntityManager } from 'typeorm';
import { PipelinedStatements } from '../database/pipelining/pipelined-statements.js';
import { queryRows } from '../database/sql.js';
import type { IdempotencyRecord } from './idempotency-record.entity.js';

/** The snapshot can be older than the lock. SAVE detects a response that was committed in between. */
const LOCK_AND_FIND = `
  SELECT pg_try_advisory_xact_lock($1::bigint) AS locked,
         record.fingerprint::bytea, record.answer::text AS response
    FROM (SELECT) AS one LEFT JOIN idempotency_keys AS record ON record.expires_at > $4::timestamptz
     AND record.owner_id = $2::bigint AND record.key = $3::text`;

/** Inserts a row, or replaces an expired one. Returns no row if an unexpired one exists. */
const SAVE = `
  INSERT INTO idempotency_keys AS old (owner_id, key, fingerprint, answer, expires_at)
  VALUES ($1::bigint, $2::text, $3::bytea, $4::text, $5::timestamptz)
      ON CONFLICT ON CONSTRAINT idempotency_keys_pkey DO UPDATE
     SET fingerprint = excluded.fingerprint, answer = excluded.answer, expires_at = excluded.expires_at
   WHERE old.expires_at <= $6::timestamptz
  RETURNING true`;

/** By ctid, which is stable while rows are locked. By primary key, it would read the whole table. */
const DELETE_EXPIRED = `
  DELETE FROM idempotency_keys
   WHERE ctid = ANY (ARRAY(
           SELECT ctid FROM idempotency_keys
            WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED))
  RETURNING true`;

export type OwnedKey = Pick<IdempotencyRecord, 'ownerId' | 'key'>;

/** Without a stored response, fingerprint and response are null. */
type Found = [locked: boolean, fingerprint: Buffer | null, response: string | null];

type StoredResponse = Pick<IdempotencyRecord, 'fingerprint' | 'response'>;

/** Stores first responses. Times are milliseconds since the epoch, on the service's clock. */
@Injectable()
export class IdempotencyRepository {
  constructor(
    private readonly manager: EntityManager,
    private readonly statements: PipelinedStatements,
  ) {}

  /**
   * Locks the key until the transaction ends. Returns the stored response, null if there is none,
   * or 'locked', without waiting, if another transaction holds the lock.
   */
  async lockAndFind(
    { ownerId, key }: OwnedKey,
    nowMs: number,
  ): Promise<StoredResponse | null | 'locked'> {
    const values = [lockOf({ ownerId, key }), ownerId, key, timestamp(nowMs)];
    const [found] = await this.statements.runTyped(
      LOCK_AND_FIND,
      values,
      ([locked, fingerprint, response]: Found) => {
        if (!locked) return 'locked';
        return fingerprint === null || response === null ? null : { fingerprint, response };
      },
    );
    return found ?? null;
  }

  /** Returns false, and stores nothing, if a response is stored. */
  async save(
    { ownerId, key, fingerprint, response, expiresAt }: IdempotencyRecord,
    nowMs: number,
  ): Promise<boolean> {
    const bytes = `\\x${fingerprint.toString('hex')}`;
    const values = [ownerId, key, bytes, response, expiresAt.toISOString(), timestamp(nowMs)];
    const saved = await this.statements.runTyped(SAVE, values, () => true);
    return saved.length > 0;
  }

  /** Deletes up to `limit` expired records that no other replica deletes. Returns whether there was one. */
  async deleteExpired(nowMs: number, limit: number): Promise<boolean> {
    const values = [new Date(nowMs), limit];
    return (await queryRows(this.manager, DELETE_EXPIRED, values)).length > 0;
  }
}

function timestamp(ms: number): string {
  return new Date(ms).toISOString();
}

/** Returns the advisory lock of a key: 64 bits of its hash, so that collisions are negligible. */
function lockOf({ ownerId, key }: OwnedKey): bigint {
  return createHash('sha256').update(`${ownerId} ${key}`).digest().readBigInt64BE();
}
