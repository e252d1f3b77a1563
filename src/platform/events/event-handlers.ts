import { Injectable, type OnModuleInit, type Type } from '@nestjs/common';
import { DiscoveryService, MetadataScanner } from '@nestjs/core';
import { StartError } from '../errors/start-error.js';
import { type EventSubscription, ON_EVENT } from './on-event.decorator.js';

/** A method with `@OnEvent()`. */
export interface EventHandler extends EventSubscription {
  /** The class and the method. Rows in the database refer to it. */
  readonly id: string;
  handle(payload: unknown, signal: AbortSignal): unknown;
}

type Provider = ReturnType<DiscoveryService['getProviders']>[number];

/** Finds the methods with `@OnEvent()` of all providers and controllers when the service starts. */
@Injectable()
export class EventHandlers implements OnModuleInit {
  private readonly handlers = new Map<string, EventHandler>();

  constructor(private readonly discovery: DiscoveryService) {}

  get all(): EventHandler[] {
    return [...this.handlers.values()];
  }

  /** Returns the ids of the handlers of an event. */
  idsOf(event: string): string[] {
    return this.all.filter((handler) => handler.event === event).map(({ id }) => id);
  }

  /** @throws StartError if a handler could not be called, or has the id of another one */
  onModuleInit(): void {
    const scanner = new MetadataScanner();
    for (const provider of [...this.discovery.getProviders(), ...this.discovery.getControllers()]) {
      const prototype = prototypeOf(provider);
      if (!prototype || provider.isAlias) continue;
      for (const name of scanner.getAllMethodNames(prototype)) this.add(provider, prototype, name);
    }
  }

  private add(provider: Provider, prototype: Record<string, unknown>, name: string): void {
    const method = prototype[name];
    if (typeof method !== 'function') return;
    const subscription = Reflect.getMetadata(ON_EVENT, method) as EventSubscription | undefined;
    if (!subscription) return;
    const { name: className } = prototype.constructor as Type;
    const id = `${className}.${name}`;
    if (subscription.event.includes('*')) {
      throw new StartError(`${id}: @OnEvent() has no wildcards. Name each event.`);
    }
    if (!provider.isDependencyTreeStatic()) {
      throw new StartError(`${id}: @OnEvent() requires a singleton provider. Remove its scope.`);
    }
    if (this.handlers.has(id)) {
      throw new StartError(
        `${id}: two providers with @OnEvent() have this name. Rename one, or export the provider from one module.`,
      );
    }
    const handle = (method as EventHandler['handle']).bind(provider.instance);
    this.handlers.set(id, { ...subscription, id, handle });
  }
}

/** A request-scoped provider has no instance yet, and a factory has no class. */
function prototypeOf({ instance, metatype }: Provider) {
  const isObject = typeof instance === 'object' && instance !== null;
  const prototype: unknown = isObject ? Object.getPrototypeOf(instance) : metatype?.prototype;
  return prototype as Record<string, unknown> | null | undefined;
}
