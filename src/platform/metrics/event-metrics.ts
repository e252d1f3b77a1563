import { Injectable } from '@nestjs/common';
import { EventDelivery } from '../events/event-delivery.js';
import { ServiceMetrics } from './service-metrics.js';

/** Registers the metrics of events. */
@Injectable()
export class EventMetrics {
  constructor(metrics: ServiceMetrics, { attempts }: EventDelivery) {
    metrics.counter(
      'pets_event_attempts_total',
      'Attempts to handle an event, by outcome. A parked event has failed in all its attempts',
      () => attempts,
      ['outcome'],
    );
  }
}
