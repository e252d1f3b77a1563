import { Injectable, Logger } from '@nestjs/common';
import { Clock, OnOutboxEvent } from '#platform';
import { ORDER_CREATED, type OrderCreated } from './order-created.js';
import { OrdersRepository } from './orders.repository.js';

/** Confirms orders after their sale is committed. */
@Injectable()
export class OrderConfirmations {
  private readonly logger = new Logger(OrderConfirmations.name);

  constructor(
    private readonly orders: OrdersRepository,
    private readonly clock: Clock,
  ) {}

  /** An event can arrive twice. The second one finds a confirmed order and changes nothing. */
  @OnOutboxEvent(ORDER_CREATED)
  async confirm({ orderId }: OrderCreated): Promise<void> {
    const isNew = await this.orders.confirm(BigInt(orderId), this.clock.now());
    if (isNew) this.logger.log({ msg: 'order confirmed', orderId });
  }
}
