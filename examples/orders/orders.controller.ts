import { Body, Controller, Get, Param, Post } from '@nestjs/common';
import { Throttle } from '@nestjs/throttler';
import { CallerKey } from '../platform/access/caller-key.decorator.js';
import type { CachedKey } from '../platform/access/cached-key.js';
import { Int64Pipe } from '../platform/http/validation/int64.pipe.js';
import { IdempotencyKey } from '../platform/idempotency/idempotency-key.decorator.js';
import { NewOrder } from './dto/new-order.dto.js';
import type { PublicOrder } from './order.entity.js';
import { orderNotFound } from './orders.errors.js';
import { DescribeCreateOrder, DescribeGetOrder } from './orders.openapi.js';
import { OrdersService } from './orders.service.js';

@Controller({ path: 'orders', version: '1' })
export class OrdersController {
  constructor(private readonly orders: OrdersService) {}

  @Post()
  @Throttle({ default: { limit: 30, ttl: 60_000 } })
  @DescribeCreateOrder()
  createOrder(
    @Body() order: NewOrder,
    @CallerKey() key: CachedKey,
    @IdempotencyKey() idempotencyKey?: string,
  ): Promise<PublicOrder> {
    return this.orders.add(order, key, idempotencyKey);
  }

  @Get(':orderId')
  @DescribeGetOrder()
  getOrder(
    @Param('orderId', new Int64Pipe(orderNotFound)) orderId: bigint,
    @CallerKey() key: CachedKey,
  ): Promise<PublicOrder> {
    return this.orders.get(orderId, key);
  }
}
