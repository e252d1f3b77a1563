import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AdministrationModule, EventsModule, IdempotencyModule } from '#platform';
import { OrderConfirmations } from './order-confirmations.js';
import { PetsModule } from '../pets/pets.module.js';
import { Order } from './order.entity.js';
import { OrdersCommands } from './orders.commands.js';
import { OrdersController } from './orders.controller.js';
import { OrdersRepository } from './orders.repository.js';
import { OrdersService } from './orders.service.js';
import { SalesService } from './sales.service.js';

@Module({
  imports: [
    TypeOrmModule.forFeature([Order]),
    PetsModule,
    AdministrationModule,
    EventsModule,
    IdempotencyModule,
  ],
  controllers: [OrdersController],
  providers: [OrdersService, OrdersCommands, SalesService, OrderConfirmations, OrdersRepository],
})
export class OrdersModule {}
