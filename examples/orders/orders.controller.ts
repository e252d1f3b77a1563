import { Body, Controller, Get, Param, Post } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiOperation, ApiParam } from '@nestjs/swagger';
import { Throttle } from '@nestjs/throttler';
import { ApiErrors, Caller, IdempotencyKey, INT64, Int64Pipe } from '#platform';
import { NewOrder } from './dto/new-order.dto.js';
import { PET_NOT_FOUND } from '../pets/pets.errors.js';
import { Order } from './order.entity.js';
import { ORDER_NOT_FOUND, orderNotFound, PET_SOLD } from './orders.errors.js';
import { OrdersService } from './orders.service.js';

@Controller({ path: 'orders', version: '1' })
export class OrdersController {
  constructor(private readonly orders: OrdersService) {}

  @Post()
  @Throttle({ default: { limit: 30, ttl: 60_000 } })
  @ApiOperation({
    operationId: 'createOrder',
    summary: 'Buy an animal',
    description: 'Marks the animal as sold and returns the order. It is confirmed soon after.',
  })
  @ApiCreatedResponse({ type: Order, description: 'The order.' })
  @ApiErrors(PET_NOT_FOUND, { conflict: PET_SOLD })
  createOrder(
    @Body() order: NewOrder,
    @Caller() caller: Caller,
    @IdempotencyKey() idempotencyKey?: IdempotencyKey,
  ): Promise<Order> {
    return this.orders.add(order, caller, idempotencyKey);
  }

  @Get(':orderId')
  @ApiOperation({
    operationId: 'getOrder',
    summary: 'Get an order',
    description: 'Returns the order of the caller with this identifier.',
  })
  @ApiParam({
    name: 'orderId',
    schema: INT64,
    description: 'Identifies the order. A value that is not an int64 gets 404.',
  })
  @ApiOkResponse({ type: Order, description: 'The order.' })
  @ApiErrors({ not_found: ORDER_NOT_FOUND })
  getOrder(
    @Param('orderId', new Int64Pipe(orderNotFound)) orderId: bigint,
    @Caller() caller: Caller,
  ): Promise<Order> {
    return this.orders.get(orderId, caller);
  }
}
