import { createHash } from 'node:crypto';
import { Injectable, Logger } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { EntityManager } from 'typeorm';
import { Clock, DAY_MS } from '../config/clock.js';
import { ServiceError } from '../errors/service-error.js';
import { parseExact } from '../http/body/parse-json.js';
import { jsonText } from '../http/response/json-text.js';
import { IdlePause, RepeatedWork } from '../database/repeated-work.js';
import type { IdempotencyKey } from './idempotency-key.guard.js';
import { IdempotencyRepository } from './idempotency.repository.js';

const IN_PROGRESS = new ServiceError('idempotency_key_in_progress', undefined, {
  headers: { 'Retry-After': '1' },
});
/** Rows that one statement deletes: fast enough for one, and more than a replica adds in an interval. */
const BATCH_SIZE = 5_000;
const CLEANUP_INTERVAL_MS = 2_000;
const REUSED = new ServiceError('idempotency_key_reused');

interface IdempotentRequest {
  ownerId: bigint;
  /** The parameter `@IdempotencyKey()`, or text for work that no request asks for. */
  key: IdempotencyKey | string;
  /** The name of the operation. An owner cannot use one key for two operations. */
  operation: string;
  /**
   * Everything that the client sent and the work depends on: the DTO, or an array if there are also
   * path parameters. Requests with equal content are the same request.
   */
  content: object;
}

/** Executes a request once, however often it is sent with the same idempotency key. */
@Injectable()
export class Idempotency {
  private readonly cleanup: RepeatedWork;
  private readonly pause: IdlePause;

  constructor(
    private readonly repository: IdempotencyRepository,
    private readonly manager: EntityManager,
    private readonly clock: Clock,
  ) {
    const logger = new Logger(Idempotency.name);
    this.cleanup = new RepeatedWork(logger, clock, 'Deleting expired idempotency keys');
    this.pause = new IdlePause(clock, CLEANUP_INTERVAL_MS);
  }

  /**
   * Does the work and stores its result for 24 hours, in one transaction. If a result is stored,
   * returns it instead, and the key announces `Idempotent-Replayed`. If the work throws, the
   * transaction is rolled back.
   *
   * @param work returns the body of the response, or undefined for a response without a body. All
   *   that it does in the database is part of the transaction
   * @returns the result as plain JSON values, so that the first response and its replays are alike:
   *   decorators of its classes, such as `@Exclude()`, do not apply
   * @throws ServiceError idempotency_key_in_progress, without waiting, while a replica handles the
   *   first request; idempotency_key_reused if the key belongs to a different request
   */
  async once<Result>(
    { operation, content, ownerId, key }: IdempotentRequest,
    work: () => Promise<Result>,
  ): Promise<Result> {
    const owned = { ownerId, key: String(key) };
    const fingerprint = fingerprintOf(operation, content);
    const [text, isReplay] = await this.manager.transaction(async () => {
      const nowMs = this.clock.now();
      const first = await this.repository.lockAndFind(owned, nowMs);
      if (first === 'locked') throw IN_PROGRESS;
      if (first) {
        const { fingerprint: stored, response } = first;
        if (!stored.equals(fingerprint)) throw REUSED;
        return [response, true] as const;
      }
      const result = await work();
      const response = result === undefined ? '' : jsonText(result);
      const record = { ...owned, fingerprint, response, expiresAt: new Date(nowMs + DAY_MS) };
      // Another request stored its response in the meantime: this transaction is rolled back.
      if (!(await this.repository.save(record, nowMs))) throw IN_PROGRESS;
      return [response, false] as const;
    });
    if (isReplay && typeof key !== 'string') key.announceReplay();
    return (text === '' ? undefined : parseExact(text)) as Result;
  }

  /** Runs on every replica. SKIP LOCKED divides the rows. */
  async deleteExpired(): Promise<void> {
    const remove = () => this.repository.deleteExpired(this.clock.now(), BATCH_SIZE);
    this.pause.begin((await this.cleanup.run(remove)) === false);
  }

  @Interval(CLEANUP_INTERVAL_MS)
  async deleteExpiredIfDue(): Promise<void> {
    if (this.pause.isOver) await this.deleteExpired();
  }
}

/**
 * Returns the SHA-256 of an operation and its validated values. The order of the properties of an
 * object, undefined properties, and undefined values at the end of an array do not matter. A change in
 * how values are written as JSON makes retries of requests from before it fail.
 */
export function fingerprintOf(operation: string, content: object): Buffer {
  const values: unknown[] = Array.isArray(content) ? content : [content];
  const text = JSON.stringify([operation, ...values], (_name, value: unknown) =>
    Array.isArray(value)
      ? value.slice(0, value.findLastIndex((item) => item !== undefined) + 1)
      : comparable(value),
  );
  return createHash('sha256').update(text).digest();
}

/** Replaces a bigint by an object with its type, and another object by its members in order. */
function comparable(value: unknown): unknown {
  if (typeof value === 'bigint') return { int64: value.toString() };
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return { object: members.sort(([a], [b]) => (a < b ? -1 : 1)) };
}
