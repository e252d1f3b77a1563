import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { Clock, DAY_MS } from '../config/clock.js';
import { Transactions } from '../database/transactions.js';
import { PUBLIC_MESSAGES } from '../errors/public-messages.js';
import { ServiceError } from '../errors/service-error.js';
import { SerializedJson } from '../http/response/handler-result.js';
import { jsonText } from '../http/response/json-text.js';
import { IdempotencyRepository, type OwnedKey } from './idempotency.repository.js';

/** How long a first response is stored. */
const RETENTION_MS = DAY_MS;
const RETRY_SECONDS = 1;

/** A request with an idempotency key. */
interface IdempotentRequest extends OwnedKey {
  /** The operation and its validated values. Requests with equal content are the same request. */
  content: readonly (string | bigint | number | boolean | null)[];
}

/** Executes a request once, however often it is sent with the same idempotency key. */
@Injectable()
export class Idempotency {
  constructor(
    private readonly repository: IdempotencyRepository,
    private readonly transactions: Transactions,
    private readonly clock: Clock,
  ) {}

  /**
   * Does the work and stores its result for 24 hours, in one transaction. If a response is stored,
   * returns it instead, byte for byte. If the work throws, the transaction is rolled back.
   *
   * @param work runs its statements with the given manager and returns the body of the response
   * @throws ServiceError idempotency_key_in_progress, without waiting, while a replica handles the
   *   first request; idempotency_key_reused if the key belongs to a different request
   */
  once(
    { content, ...owned }: IdempotentRequest,
    work: (transaction: EntityManager) => Promise<unknown>,
  ): Promise<SerializedJson> {
    const fingerprint = fingerprintOf(content);
    return this.transactions.run(async (transaction) => {
      const nowMs = this.clock.now();
      const first = await this.repository.lockAndFind(transaction, owned, nowMs);
      if (first === 'locked') throw inProgress();
      if (first) {
        if (!first.fingerprint.equals(fingerprint)) throw reused();
        return new SerializedJson(first.response, { 'Idempotent-Replayed': 'true' });
      }
      const response = jsonText(await work(transaction));
      const times = { nowMs, expiresAtMs: nowMs + RETENTION_MS };
      const saved = await this.repository.save(
        transaction,
        owned,
        { fingerprint, response },
        times,
      );
      // Another request stored its response in the meantime: this transaction is rolled back.
      if (!saved) throw inProgress();
      return new SerializedJson(response);
    });
  }
}

/** Writes bigints as objects: the content has no objects, so no other value has the same text. */
function fingerprintOf(content: IdempotentRequest['content']): Buffer {
  const text = JSON.stringify(content, (_index, value: unknown) =>
    typeof value === 'bigint' ? { int64: value.toString() } : value,
  );
  return createHash('sha256').update(text).digest();
}

function inProgress(): ServiceError {
  return new ServiceError('idempotency_key_in_progress', PUBLIC_MESSAGES.idempotencyKeyInProgress, {
    headers: { 'Retry-After': String(RETRY_SECONDS) },
  });
}

function reused(): ServiceError {
  return new ServiceError('idempotency_key_reused', PUBLIC_MESSAGES.idempotencyKeyReused);
}
