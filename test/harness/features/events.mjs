// @ts-check
// A feature that publishes events, and handlers that behave as the payload says.
import { Body, Controller, Inject, Injectable, Post } from '@nestjs/common';
import { IsString } from 'class-validator';
import { EntityManager } from 'typeorm';
import { CallerKey } from '#dist/platform/access/caller-key.decorator.js';
import { Transactions } from '#dist/platform/database/transactions.js';
import { EventsModule } from '#dist/platform/events/events.module.js';
import { Events } from '#dist/platform/events/events.js';
import { OnOutboxEvent } from '#dist/platform/events/on-outbox-event.decorator.js';
import { IdempotencyKey } from '#dist/platform/idempotency/idempotency-key.decorator.js';
import { IdempotencyModule } from '#dist/platform/idempotency/idempotency.module.js';
import { Idempotency } from '#dist/platform/idempotency/idempotency.js';
import { decorate, feature } from './decorate.mjs';

/** Longer than any test. */
const NEVER_MS = 3_600_000;
const EXACT = 9007199254740993n;

class NewOrder {
  id = '';
  mode = '';
}
IsString()(NewOrder.prototype, 'id');
IsString()(NewOrder.prototype, 'mode');

class OrdersController {
  /** @param {Transactions} transactions @param {Idempotency} idempotency @param {Events} events
   * @param {EntityManager} manager */
  constructor(transactions, idempotency, events, manager) {
    Object.assign(this, { transactions, idempotency, events, manager });
    this.transactions = transactions;
    this.idempotency = idempotency;
    this.events = events;
    this.manager = manager;
  }

  /** @param {NewOrder} order @param {import('#dist/platform/access/cached-key.js').CachedKey} caller
   * @param {string | undefined} key */
  create(order, caller, key) {
    if (order.mode === 'no-transaction') return this.publish(this.manager, order);
    if (key === undefined)
      return this.transactions.run((transaction) => this.publish(transaction, order));
    return this.idempotency.once(
      { ownerId: caller.ownerId, key, operation: 'createOrder', content: order },
      (transaction) => this.publish(transaction, order),
    );
  }

  /** @param {EntityManager} transaction @param {NewOrder} order */
  async publish(transaction, order) {
    const event = order.mode === 'no-handler' ? 'order.deleted' : 'order.created';
    await this.events.publish(transaction, event, {
      id: order.id,
      mode: order.mode,
      exact: EXACT,
    });
    if (order.mode === 'rollback') throw new Error('The order is rejected.');
    return { id: order.id };
  }
}

class OrderHandlers {
  /** @param {EntityManager} manager */
  constructor(manager) {
    this.manager = manager;
  }

  /** @param {NewOrder & { exact: bigint }} order @param {AbortSignal} signal */
  async handle(order, signal) {
    if (order.exact !== EXACT) throw new Error(`inexact: ${order.exact}`);
    const [{ attempt }] = await this.manager.query(
      `INSERT INTO handled (order_id, attempt)
       SELECT $1, count(*) + 1 FROM handled WHERE order_id = $1 RETURNING attempt`,
      [order.id],
    );
    if (order.mode === 'fail' || (order.mode === 'fail-once' && attempt === 1)) {
      throw new Error('The warehouse is closed.');
    }
    if (order.mode === 'hang' || (order.mode === 'hang-once' && attempt === 1)) {
      await new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(new Error('aborted')));
        setTimeout(() => undefined, NEVER_MS).unref();
      });
    }
  }

  /** @param {NewOrder} order */
  async audit(order) {
    await this.manager.query('INSERT INTO audited VALUES ($1)', [order.id]);
  }
}

const timeoutMs = Number(process.env['TEST_HANDLER_TIMEOUT_MS'] ?? 1_000);
decorate(OrderHandlers, 'handle', OnOutboxEvent('order.created', { maxAttempts: 3, timeoutMs }));
decorate(OrderHandlers, 'audit', OnOutboxEvent('order.created'));
Inject(EntityManager)(OrderHandlers, undefined, 0);
Injectable()(OrderHandlers);

const types = [NewOrder, Object, String];
Reflect.defineMetadata('design:paramtypes', types, OrdersController.prototype, 'create');
Body()(OrdersController.prototype, 'create', 0);
CallerKey()(OrdersController.prototype, 'create', 1);
IdempotencyKey()(OrdersController.prototype, 'create', 2);
decorate(OrdersController, 'create', Post());
for (const [index, token] of [Transactions, Idempotency, Events, EntityManager].entries()) {
  Inject(token)(OrdersController, undefined, index);
}
Controller({ path: 'orders', version: '1' })(OrdersController);

export default [
  feature({
    imports: [EventsModule, IdempotencyModule],
    controllers: [OrdersController],
    providers: [OrderHandlers],
  }),
];
