import 'reflect-metadata';
import { Injectable, Scope } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { NestFactory } from '@nestjs/core';
import { Module, type Type } from '@nestjs/common';
import { BackgroundJobs } from '../../src/platform/jobs/background-jobs.js';
import { EventDelivery } from '../../src/platform/events/event-delivery.js';
import { EventHandlers } from '../../src/platform/events/event-handlers.js';
import type { EventsRepository } from '../../src/platform/events/events.repository.js';
import { OnEvent } from '../../src/platform/events/on-event.decorator.js';

/** Returns the handlers of an application with these providers. */
async function handlersOf(...modules: Type[][]): Promise<EventHandlers> {
  const imports = modules.map((providers) => {
    @Module({ providers })
    class Feature {}
    return Feature;
  });
  @Module({ imports: [DiscoveryModule, ...imports], providers: [EventHandlers] })
  class App {}
  const app = await NestFactory.createApplicationContext(App, {
    logger: false,
    abortOnError: false,
  });
  return app.get(EventHandlers);
}

@Injectable()
class Messages {
  readonly prefix = 'sent';

  @OnEvent('order.created', { timeoutMs: 5, maxAttempts: 2 })
  send(payload: unknown): string {
    return `${this.prefix} ${String(payload)}`;
  }

  @OnEvent('order.deleted')
  revoke(): void {
    // Nothing to do.
  }
}

describe('the handlers of events', () => {
  it('are the methods of providers with @OnEvent()', async () => {
    const handlers = await handlersOf([Messages]);
    expect(handlers.idsOf('order.created')).toEqual(['Messages.send']);
    const [send, revoke] = handlers.all;
    expect(send).toMatchObject({ id: 'Messages.send', timeoutMs: 5, maxAttempts: 2 });
    expect(revoke).toMatchObject({ id: 'Messages.revoke', timeoutMs: 30_000, maxAttempts: 12 });
    expect(send!.handle('a', new AbortController().signal)).toBe('sent a');
  });

  it('cannot be methods of a request-scoped provider', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class PerRequest {
      @OnEvent('order.created')
      send(): void {
        // Never called.
      }
    }
    await expect(handlersOf([PerRequest])).rejects.toThrow(
      /^PerRequest.send: @OnEvent\(\) requires a singleton provider/,
    );
  });

  it('has no wildcard in the name of its event', async () => {
    class Wildcards {
      @OnEvent('order.*')
      send(): void {
        // Never called.
      }
    }
    await expect(handlersOf([Wildcards])).rejects.toThrow(
      'Wildcards.send: @OnEvent() has no wildcards. Name each event.',
    );
  });

  it('cannot have the name of another handler', async () => {
    await expect(handlersOf([Messages], [Messages])).rejects.toThrow(
      /^Messages.send: two providers with @OnEvent\(\) have this name/,
    );
  });

  it.each([
    ['none', [], 0],
    ['two, and a job that deletes old events', [Messages], 3],
  ])('start background jobs only if there are any: %s', async (_title, providers, jobs) => {
    const every = jest.spyOn(BackgroundJobs.prototype, 'every').mockImplementation();
    const [repository, handlers] = [{} as EventsRepository, await handlersOf(providers)];
    new EventDelivery(handlers, repository, new BackgroundJobs()).onApplicationBootstrap();
    expect(every).toHaveBeenCalledTimes(jobs);
    every.mockRestore();
  });
});
