import { Injectable, type OnModuleInit } from '@nestjs/common';
import { DiscoveryService, MetadataScanner } from '@nestjs/core';
import { EntityManager } from 'typeorm';
import { openTransaction } from '../database/store-data-source.js';
import { StartError } from '../errors/start-error.js';
import { type EventSubscription, ON_OUTBOX_EVENT } from './on-outbox-event.decorator.js';
import { OutboxEvent } from './outbox-event.entity.js';

/** A method with `@OnOutboxEvent()`. */
export interface EventHandler extends EventSubscription {
  /** The class and the method. Rows in the database refer to it. */
  readonly id: string;
  handle(payload: unknown, signal: AbortSignal): Promise<unknown>;
}

/** Publishes events. EventDelivery delivers them to the methods with `@OnOutboxEvent()`. */
@Injectable()
export class Events implements OnModuleInit {
  readonly handlers: EventHandler[] = [];

  constructor(
    private readonly discovery: DiscoveryService,
    private readonly manager: EntityManager,
  ) {}

  /** @throws StartError for a handler without an instance, or with the id of another one */
  onModuleInit(): void {
    const scanner = new MetadataScanner();
    for (const provider of this.discovery.getProviders()) {
      const instance = provider.instance as Record<string, unknown> | undefined;
      if (!(instance instanceof Object) || provider.isAlias) continue;
      for (const name of scanner.getAllMethodNames(Object.getPrototypeOf(instance) as object)) {
        const method = instance[name] as EventHandler['handle'];
        const subscription: unknown = Reflect.getMetadata(ON_OUTBOX_EVENT, method);
        if (subscription === undefined) continue;
        const id = `${instance.constructor.name}.${name}`;
        if (!provider.isDependencyTreeStatic() || this.handlers.some((other) => other.id === id)) {
          throw new StartError(`${id}: @OnOutboxEvent() requires one singleton of this name.`);
        }
        const handle: EventHandler['handle'] = async (...args) => method.apply(instance, args);
        this.handlers.push({ ...(subscription as EventSubscription), id, handle });
      }
    }
  }

  /**
   * Publishes an event when the open transaction commits. If it is rolled back, there is no event.
   *
   * @param payload JSON: text for an int64
   * @throws Error outside of a transaction, and for an event without a handler
   */
  async publish(event: string, payload: unknown): Promise<void> {
    if (!openTransaction()) {
      throw new Error(`The event ${event} is published outside of a transaction.`);
    }
    const handlers = this.handlers.filter((handler) => handler.event === event);
    if (handlers.length === 0) throw new Error(`No provider has @OnOutboxEvent('${event}').`);
    const row = { event, payload: JSON.stringify(payload) };
    await this.manager.insert(
      OutboxEvent,
      handlers.map(({ id }) => ({ ...row, handler: id })),
    );
  }
}
