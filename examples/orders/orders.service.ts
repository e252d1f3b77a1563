import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { type Caller, Idempotency, type IdempotencyKey } from '#platform';
import type { NewOrder } from './dto/new-order.dto.js';
import type { Order } from './order.entity.js';
import { orderNotFound } from './orders.errors.js';
import { OrdersRepository } from './orders.repository.js';
import { SalesService } from './sales.service.js';

/** The operations on orders. */
@Injectable()
export class OrdersService {
  constructor(
    private readonly orders: OrdersRepository,
    private readonly sales: SalesService,
    private readonly dataSource: DataSource,
    private readonly idempotency: Idempotency,
  ) {}

  /**
   * Sells an animal to the caller. Requests with the same idempotency key sell it once.
   *
   * @throws ServiceError pet_not_found; conflict if the animal is sold; idempotency_key_reused or
   *   idempotency_key_in_progress
   */
  add(order: NewOrder, { ownerId }: Caller, idempotencyKey?: IdempotencyKey): Promise<Order> {
    const sell = (): Promise<Order> => this.sales.sell(order.petId, ownerId);
    if (idempotencyKey === undefined) return this.dataSource.transaction(sell);
    return this.idempotency.once(
      { ownerId, key: idempotencyKey, operation: 'createOrder', content: order },
      sell,
    );
  }

  /** Returns an order of the caller. @throws ServiceError not_found */
  async get(id: bigint, { ownerId }: Caller): Promise<Order> {
    const order = await this.orders.findOf(ownerId, id);
    if (!order) throw orderNotFound();
    return order;
  }
}
