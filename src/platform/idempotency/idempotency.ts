import { Injectable, StreamableFile } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { Clock, DAY_MS } from '../config/clock.js';
import { Transactions } from '../database/transactions.js';
import { PUBLIC_MESSAGES } from '../errors/public-messages.js';
import { ServiceError } from '../errors/service-error.js';
import { Page, SerializedJson } from '../http/response/handler-result.js';
import { jsonText } from '../http/response/json-text.js';
import { fingerprintOf } from './fingerprint.js';
import { IdempotencyRepository, type OwnedKey } from './idempotency.repository.js';

const { idempotencyKeyInProgress, idempotencyKeyReused } = PUBLIC_MESSAGES;
const IN_PROGRESS = new ServiceError('idempotency_key_in_progress', idempotencyKeyInProgress, {
  headers: { 'Retry-After': '1' },
});
const REUSED = new ServiceError('idempotency_key_reused', idempotencyKeyReused);

interface IdempotentRequest extends OwnedKey {
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
  constructor(
    private readonly repository: IdempotencyRepository,
    private readonly transactions: Transactions,
    private readonly clock: Clock,
  ) {}

  /**
   * Does the work and stores its result for 24 hours, in one transaction. If a response is stored,
   * returns it instead, byte for byte. If the work throws, the transaction is rolled back.
   *
   * @param work runs its statements with the given manager and returns the body of the response, or
   *   undefined for a response without a body
   * @throws ServiceError idempotency_key_in_progress, without waiting, while a replica handles the
   *   first request; idempotency_key_reused if the key belongs to a different request
   */
  once(
    { operation, content, ...owned }: IdempotentRequest,
    work: (transaction: EntityManager) => Promise<unknown>,
  ): Promise<SerializedJson> {
    const fingerprint = fingerprintOf(operation, content);
    return this.transactions.run(async (transaction) => {
      const nowMs = this.clock.now();
      const first = await this.repository.lockAndFind(transaction, owned, nowMs);
      if (first === 'locked') throw IN_PROGRESS;
      if (first) {
        if (!first.fingerprint.equals(fingerprint)) throw REUSED;
        const headers = { 'Idempotent-Replayed': 'true' };
        return new SerializedJson(first.response, headers, owned.key);
      }
      const response = responseText(storable(await work(transaction)));
      const record = { ...owned, fingerprint, response, expiresAt: new Date(nowMs + DAY_MS) };
      // Another request stored its response in the meantime: this transaction is rolled back.
      if (!(await this.repository.save(transaction, record, nowMs))) throw IN_PROGRESS;
      return new SerializedJson(response, {}, owned.key);
    });
  }
}

/** @throws TypeError for a result that is not sent as plain JSON */
function storable(result: unknown): unknown {
  for (const Unstorable of [Page, SerializedJson, StreamableFile]) {
    if (result instanceof Unstorable) {
      throw new TypeError(
        `The work of an idempotent operation returned a ${Unstorable.name}, which cannot be stored. Return the value that becomes the JSON body.`,
      );
    }
  }
  return result;
}

function responseText(result: unknown): string {
  return result === undefined ? '' : jsonText(result);
}
