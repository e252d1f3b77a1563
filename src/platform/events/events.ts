import { Injectable, type OnModuleInit, SetMetadata } from '@nestjs/common';
import { DiscoveryService, MetadataScanner } from '@nestjs/core';
import {
  EntityManager,
  type EntitySubscriberInterface,
  type QueryRunner,
  type TransactionCommitEvent,
} from 'typeorm';
import { StartError } from '../errors/start-error.js';
import { OutboxEvent } from './outbox-event.entity.js';

const ON_OUTBOX_EVENT = 'on-outbox-event';

/** A method with `@OnOutboxEvent()`. */
export interface EventHandler {
  readonly event: string;
  /** The time limit of an attempt. */
  readonly timeoutMs: number;
  /** After this many failed attempts, the event is parked. */
  readonly maxAttempts: number;
  /** The class and the method. Rows in the database refer to it. */
  readonly id: string;
  handle(payload: unknown, signal: AbortSignal): unknown;
}

/**
 * Calls `method(payload, signal)` of a provider for each published event, at least once and in no
 * particular order. The signal is aborted when the time limit expires or the service stops.
 */
export const OnOutboxEvent = (
  event: string,
  { timeoutMs = 30_000, maxAttempts = 12 }: { timeoutMs?: number; maxAttempts?: number } = {},
): MethodDecorator => SetMetadata(ON_OUTBOX_EVENT, { event, timeoutMs, maxAttempts });

/** Publishes events. EventDelivery delivers them to the methods with `@OnOutboxEvent()`. */
@Injectable()
export class Events implements OnModuleInit, EntitySubscriberInterface {
  readonly handlers: EventHandler[] = [];
  /** The ids of handlers whose events this process has committed. EventDelivery takes them out. */
  readonly committed = new Set<string>();
  /** The handlers whose events a transaction commits. */
  private readonly uncommitted = new WeakMap<QueryRunner, string[]>();

  constructor(
    private readonly discovery: DiscoveryService,
    private readonly manager: EntityManager,
  ) {}

  /** @throws StartError for a handler without an instance, or with the id of another one */
  onModuleInit(): void {
    this.manager.dataSource.subscribers.push(this);
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
        const handle = method.bind(instance);
        this.handlers.push({ ...(subscription as EventHandler), id, handle });
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
    const { queryRunner } = this.manager;
    if (!queryRunner) throw new Error(`${event} is published outside of a transaction.`);
    const handlers = this.handlers.filter((handler) => handler.event === event);
    if (handlers.length === 0) throw new Error(`No provider has @OnOutboxEvent('${event}').`);
    const text = JSON.stringify(payload);
    const rows = handlers.map(({ id }) => ({ event, payload: text, handler: id }));
    await this.manager.insert(OutboxEvent, rows);
    const ids = this.uncommitted.get(queryRunner) ?? [];
    this.uncommitted.set(queryRunner, [...ids, ...handlers.map(({ id }) => id)]);
  }

  /** Called by TypeORM, also when a savepoint is released. */
  afterTransactionCommit({ queryRunner }: TransactionCommitEvent): void {
    if (queryRunner.isTransactionActive) return;
    for (const id of this.uncommitted.get(queryRunner) ?? []) this.committed.add(id);
    this.uncommitted.delete(queryRunner);
  }
}
