import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { EventsModule, IdempotencyModule } from '#platform';
import { OrderConfirmations } from './order-confirmations.js';
import { PetsModule } from '../pets/pets.module.js';
import { Order } from './order.entity.js';
import { OrdersController } from './orders.controller.js';
import { OrdersRepository } from './orders.repository.js';
import { OrdersService } from './orders.service.js';
import { SalesService } from './sales.service.js';

@Module({
  imports: [TypeOrmModule.forFeature([Order]), PetsModule, EventsModule, IdempotencyModule],
  controllers: [OrdersController],
  providers: [OrdersService, SalesService, OrderConfirmations, OrdersRepository],
})
export class OrdersModule {}
