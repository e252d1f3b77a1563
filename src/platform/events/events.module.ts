import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ServiceMetrics } from '../metrics/service-metrics.js';
import { EventDelivery } from './event-delivery.js';
import { Events } from './events.js';
import { EventsRepository } from './events.repository.js';
import { OutboxEvent } from './outbox-event.entity.js';

/** Events that are committed with a change. A module that publishes events imports it. */
@Module({
  imports: [DiscoveryModule, TypeOrmModule.forFeature([OutboxEvent])],
  providers: [EventDelivery, Events, EventsRepository],
  exports: [Events],
})
export class EventsModule {
  constructor(metrics: ServiceMetrics, { attempts }: EventDelivery) {
    metrics.add(
      'event_attempts_total',
      'Attempts to handle an event, by outcome. A parked event has failed in all its attempts',
      () => attempts,
      ['outcome'],
    );
  }
}
