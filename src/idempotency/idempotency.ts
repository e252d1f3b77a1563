import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { Clock } from '../config/clock.js';
import { PUBLIC_MESSAGES } from '../errors/public-messages.js';
import { ServiceError } from '../errors/service-error.js';
import { SerializedJson } from '../http/response/handler-result.js';
import { jsonText } from '../http/response/json-text.js';
import { IdempotencyRepository, type OwnedKey } from './idempotency.repository.js';

/** For how long a first answer is kept. */
const RETENTION_MS = 86_400_000;
const RETRY_SECONDS = 1;

/** A request that is sent with an idempotency key. */
export interface IdempotentRequest extends OwnedKey {
  /** What has to be the same for a request to be the same: the operation, then each value that it takes. */
  content: readonly (string | bigint | number | boolean | null)[];
}

/** Does once what is asked for several times with the same idempotency key. */
@Injectable()
export class Idempotency {
  constructor(
    private readonly repository: IdempotencyRepository,
    private readonly clock: Clock,
  ) {}

  /**
   * Does the work and keeps its answer for 24 hours, both in one transaction; or returns the answer
   * that is kept, byte for byte. Work that throws leaves nothing behind.
   *
   * @param work runs its statements on the manager that it is handed, and returns what is answered
   * @throws ServiceError idempotency_key_in_progress at once while the first one is under way, on any
   *   replica; idempotency_key_reused when the key belongs to another request
   */
  once(
    { content, ...owned }: IdempotentRequest,
    work: (transaction: EntityManager) => Promise<unknown>,
  ): Promise<SerializedJson> {
    const fingerprint = fingerprintOf(content);
    return this.repository.inTransaction(async (transaction) => {
      const nowMs = this.clock.now();
      const first = await this.repository.lockAndFind(transaction, owned, nowMs);
      if (first === 'locked') throw inProgress();
      if (first) {
        if (!first.fingerprint.equals(fingerprint)) throw reused();
        return new SerializedJson(first.answer, { 'Idempotent-Replayed': 'true' });
      }
      const answer = jsonText(await work(transaction));
      const times = { nowMs, expiresAtMs: nowMs + RETENTION_MS };
      const saved = await this.repository.save(transaction, owned, { fingerprint, answer }, times);
      // Another one ended while this one began: what was done here is rolled back.
      if (!saved) throw inProgress();
      return new SerializedJson(answer);
    });
  }
}

/** Only bigints become objects: no two contents have the same text. */
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
