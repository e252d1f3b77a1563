import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { currentTraceParent } from '../tracing/spans.js';
import { EventHandlers } from './event-handlers.js';
import { payloadText } from './event-payload.js';
import { EventsRepository } from './events.repository.js';

/** Publishes events. EventDelivery delivers them to the methods with `@OnEvent()`. */
@Injectable()
export class Events {
  constructor(
    private readonly handlers: EventHandlers,
    private readonly repository: EventsRepository,
  ) {}

  /**
   * Publishes an event when the transaction commits. If it is rolled back, there is no event.
   *
   * @param transaction of `Transactions.run` or `Idempotency.once`
   * @param payload plain data: JSON and bigints
   * @throws Error outside of a transaction, and for an event without a handler
   */
  async publish(transaction: EntityManager, event: string, payload: unknown): Promise<void> {
    if (transaction.queryRunner?.isTransactionActive !== true) {
      throw new Error(
        `The event ${event} is published outside of a transaction. Pass the EntityManager that Transactions.run or Idempotency.once passes to the work.`,
      );
    }
    const handlers = this.handlers.idsOf(event);
    if (handlers.length === 0) {
      throw new Error(`No provider of the application has @OnEvent('${event}').`);
    }
    const row = { event, payload: payloadText(payload), traceParent: currentTraceParent() };
    await this.repository.add(transaction, row, handlers);
  }
}
