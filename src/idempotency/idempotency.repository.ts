import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { type EntityManager, Repository } from 'typeorm';
import { Settings } from '../config/settings.js';
import { boundedTransaction } from '../database/bounded-transaction.js';
import { IdempotencyRecord } from './idempotency-record.entity.js';

/**
 * The lock and the row in one round trip. The row is looked for on a snapshot that is older than the
 * lock: one that was committed in between is missed here, and met by SAVE.
 */
const LOCK_AND_FIND = `
  SELECT pg_try_advisory_xact_lock($1) AS locked, record.fingerprint, record.answer
    FROM (VALUES (true)) AS one (row)
    LEFT JOIN idempotency_keys AS record
      ON record.owner_id = $2 AND record.key = $3 AND record.expires_at > $4`;

/** Takes the place of an expired row; returns none where there is another one. */
const SAVE = `
  INSERT INTO idempotency_keys AS old (owner_id, key, fingerprint, answer, expires_at)
  VALUES ($1, $2, $3, $4, $5)
      ON CONFLICT ON CONSTRAINT idempotency_keys_pkey DO UPDATE
     SET fingerprint = excluded.fingerprint, answer = excluded.answer, expires_at = excluded.expires_at
   WHERE old.expires_at <= $6
  RETURNING true AS saved`;

/** By the rows' places, which cannot change once they are locked: by their keys, the whole table is read for a batch. */
const DELETE_EXPIRED = `
  DELETE FROM idempotency_keys
   WHERE ctid = ANY (ARRAY(
           SELECT ctid FROM idempotency_keys
            WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED))`;

/** A key, and whose. */
export interface OwnedKey {
  ownerId: bigint;
  key: string;
}

/** A first answer. */
export type FirstAnswer = Pick<IdempotencyRecord, 'fingerprint' | 'answer'>;

/** The first answers in PostgreSQL. Times are milliseconds since the epoch, by the service's clock. */
@Injectable()
export class IdempotencyRepository {
  constructor(
    @InjectRepository(IdempotencyRecord) private readonly records: Repository<IdempotencyRecord>,
    private readonly settings: Settings,
  ) {}

  /** Does the work in one transaction, which has as long as a statement has. */
  inTransaction<Result>(work: (transaction: EntityManager) => Promise<Result>): Promise<Result> {
    const { dataSource } = this.records.manager;
    return boundedTransaction(dataSource, this.settings.database.statementTimeoutMs, work);
  }

  /**
   * Takes the lock of the key until the transaction ends, and returns the answer it has, null when none.
   * Never waits: 'locked' when another transaction has the lock.
   */
  async lockAndFind(
    transaction: EntityManager,
    { ownerId, key }: OwnedKey,
    nowMs: number,
  ): Promise<FirstAnswer | null | 'locked'> {
    const [row] = await transaction.query<[{ locked: boolean } & FirstAnswer]>(LOCK_AND_FIND, [
      lockOf({ ownerId, key }),
      ownerId,
      key,
      new Date(nowMs),
    ]);
    if (!row.locked) return 'locked';
    return (row.answer as string | null) === null ? null : row;
  }

  /** Returns whether the answer was kept: false when there is one of the key by now. */
  async save(
    transaction: EntityManager,
    { ownerId, key }: OwnedKey,
    { fingerprint, answer }: FirstAnswer,
    times: { nowMs: number; expiresAtMs: number },
  ): Promise<boolean> {
    const saved = await transaction.query<unknown[]>(SAVE, [
      ownerId,
      key,
      fingerprint,
      answer,
      new Date(times.expiresAtMs),
      new Date(times.nowMs),
    ]);
    return saved.length > 0;
  }

  /** Deletes up to `limit` expired answers that nobody else is deleting. Returns how many. */
  async deleteExpired(nowMs: number, limit: number): Promise<number> {
    const [, deleted] = await this.records.query<[unknown, number]>(DELETE_EXPIRED, [
      new Date(nowMs),
      limit,
    ]);
    return deleted;
  }
}

/** Returns the advisory lock of a key: 64 bits that two keys under way do not share by chance. */
function lockOf({ ownerId, key }: OwnedKey): bigint {
  return createHash('sha256').update(`${ownerId} ${key}`).digest().readBigInt64BE();
}
