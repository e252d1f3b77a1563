import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { CachedKey } from '../platform/access/cached-key.js';
import { Transactions } from '../platform/database/transactions.js';
import { Idempotency } from '../platform/idempotency/idempotency.js';
import type { NewOrder } from './dto/new-order.dto.js';
import type { PublicOrder } from './order.entity.js';
import { orderNotFound } from './orders.errors.js';
import { OrdersRepository } from './orders.repository.js';
import { SalesService } from './sales.service.js';

/** The operations on orders. */
@Injectable()
export class OrdersService {
  constructor(
    private readonly orders: OrdersRepository,
    private readonly sales: SalesService,
    private readonly transactions: Transactions,
    private readonly idempotency: Idempotency,
  ) {}

  /**
   * Sells an animal to the caller. Requests with the same idempotency key sell it once.
   *
   * @throws ServiceError pet_not_found; conflict if the animal is sold; idempotency_key_reused or
   *   idempotency_key_in_progress
   */
  add(order: NewOrder, { ownerId }: CachedKey, idempotencyKey?: string): Promise<PublicOrder> {
    const sell = (transaction: EntityManager): Promise<PublicOrder> =>
      this.sales.sell(order.petId, ownerId, transaction);
    if (idempotencyKey === undefined) return this.transactions.run(sell);
    return this.idempotency.once(
      { ownerId, key: idempotencyKey, operation: 'createOrder', content: order },
      sell,
    );
  }

  /** Returns an order of the caller. @throws ServiceError not_found */
  async get(id: bigint, { ownerId }: CachedKey): Promise<PublicOrder> {
    const order = await this.orders.findOf(ownerId, id);
    if (!order) throw orderNotFound();
    return order;
  }
}
