import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { EventDelivery } from './event-delivery.js';
import { Events } from './events.js';
import { EventsRepository } from './events.repository.js';
import { OutboxEvent } from './outbox-event.entity.js';

/** Events that are committed with a change. A module that publishes events imports it. */
@Module({
  imports: [DiscoveryModule, TypeOrmModule.forFeature([OutboxEvent])],
  providers: [EventDelivery, Events, EventsRepository],
  exports: [EventDelivery, Events],
})
export class EventsModule {}
