import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { Events } from '#platform';
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
    @InjectRepository(Pet) private readonly pets: Repository<Pet>,
    private readonly events: Events,
  ) {}

  /**
   * Marks the animal as sold, adds the order and publishes an event. Call it in a transaction.
   *
   * @throws ServiceError pet_not_found, or conflict if the animal is sold
   */
  async sell(petId: bigint, ownerId: bigint): Promise<PublicOrder> {
    if (!(await this.orders.markSold(petId))) {
      throw (await this.pets.existsBy({ id: petId })) ? petSold() : petNotFound();
    }
    const order = await this.orders.insert(petId, ownerId);
    const event: OrderCreated = { orderId: order.id.toString() };
    await this.events.publish(ORDER_CREATED, event);
    return order;
  }
}
