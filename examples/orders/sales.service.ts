import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { Events } from '../platform/events/events.js';
import { Pet } from '../pets/pet.entity.js';
import { petNotFound } from '../pets/pets.errors.js';
import { ORDER_CREATED, type OrderCreated } from './order-created.js';
import type { PublicOrder } from './order.entity.js';
import { petSold } from './orders.errors.js';
import { OrdersRepository } from './orders.repository.js';

/** Sells animals. */
@Injectable()
export class SalesService {
  constructor(
    private readonly orders: OrdersRepository,
    private readonly events: Events,
  ) {}

  /**
   * Marks the animal as sold, adds the order and publishes an event, or does nothing.
   *
   * @throws ServiceError pet_not_found, or conflict if the animal is sold
   */
  async sell(petId: bigint, ownerId: bigint, transaction: EntityManager): Promise<PublicOrder> {
    if (!(await this.orders.markSold(petId, transaction))) {
      throw (await transaction.existsBy(Pet, { id: petId })) ? petSold() : petNotFound();
    }
    const order = await this.orders.insert(petId, ownerId, transaction);
    const event: OrderCreated = { orderId: order.id };
    await this.events.publish(transaction, ORDER_CREATED, event);
    return order;
  }
}
