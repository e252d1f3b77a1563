import { Injectable } from '@nestjs/common';
import { AuditTrail, Events } from '#platform';
import { PetsService } from '../pets/pets.service.js';
import { ORDER_CREATED, type OrderCreated } from './order-created.js';
import type { CancelledOrder, Order } from './order.entity.js';
import { orderNotFound, petSold } from './orders.errors.js';
import { OrdersRepository } from './orders.repository.js';

/** Sells animals. */
@Injectable()
export class SalesService {
  constructor(
    private readonly orders: OrdersRepository,
    private readonly pets: PetsService,
    private readonly events: Events,
    private readonly audit: AuditTrail,
  ) {}

  /**
   * Marks the animal as sold, adds the order and publishes an event. Call it in a transaction.
   *
   * @throws ServiceError pet_not_found, or conflict if the animal is sold
   */
  async sell(petId: bigint, ownerId: bigint): Promise<Order> {
    if (!(await this.orders.markSold(petId))) {
      await this.pets.get(petId);
      throw petSold();
    }
    const order = await this.orders.insert(petId, ownerId);
    const event: OrderCreated = { orderId: order.id.toString() };
    await this.events.publish(ORDER_CREATED, event);
    return order;
  }

  /**
   * Cancels all of these orders and records it. Call it in a transaction.
   *
   * @throws ServiceError not_found
   */
  async cancel(ids: bigint[]): Promise<CancelledOrder[]> {
    const cancelled = await this.orders.cancel(ids);
    if (cancelled.length < new Set(ids).size) throw orderNotFound();
    await this.audit.record('orders cancel', { cancelled });
    return cancelled;
  }
}
