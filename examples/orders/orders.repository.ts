import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { EntityManager } from 'typeorm';
import { PipelinedRepository, queryRows } from '#platform';
import { type CancelledOrder, Order } from './order.entity.js';

/** Waits for another transaction that changes the animal, and then sees its status. */
const MARK_SOLD = `UPDATE pets SET status = 'sold' WHERE id = $1 AND status <> 'sold' RETURNING id`;

const CONFIRM =
  'UPDATE orders SET confirmed_at = $2 WHERE id = $1 AND confirmed_at IS NULL RETURNING id';

const CANCEL = `
  WITH cancelled AS (DELETE FROM orders WHERE id = ANY ($1) RETURNING id, pet_id)
  UPDATE pets SET status = 'available' FROM cancelled WHERE pets.id = pet_id
  RETURNING cancelled.id AS "orderId", pet_id AS "petId"`;

/** The orders in PostgreSQL. */
@Injectable()
export class OrdersRepository {
  constructor(
    @InjectRepository(Order) private readonly orders: PipelinedRepository<Order>,
    private readonly manager: EntityManager,
  ) {}

  /** Returns an order of this owner, or null. */
  async findOf(ownerId: bigint, id: bigint): Promise<Order | null> {
    const [order] = await this.orders.selectRows('WHERE id = $1 AND owner_id = $2', [id, ownerId]);
    return order ?? null;
  }

  insert(petId: bigint, ownerId: bigint): Promise<Order> {
    return this.orders.insertRow({ petId, ownerId });
  }

  /** Returns whether there was an animal with this id that was not sold. */
  async markSold(petId: bigint): Promise<boolean> {
    return (await queryRows(this.manager, MARK_SOLD, [petId])).length > 0;
  }

  /** Deletes the orders with these ids, and makes their animals available. */
  cancel(ids: bigint[]): Promise<CancelledOrder[]> {
    return queryRows<CancelledOrder>(this.manager, CANCEL, [ids]);
  }

  /** Returns whether the order was not confirmed before. */
  async confirm(id: bigint, nowMs: number): Promise<boolean> {
    return (await queryRows(this.manager, CONFIRM, [id, new Date(nowMs)])).length > 0;
  }
}
