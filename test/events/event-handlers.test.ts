import 'reflect-metadata';
import { Injectable, Module, Scope, type Type } from '@nestjs/common';
import { DiscoveryModule, NestFactory } from '@nestjs/core';
import { EntityManager } from 'typeorm';
import { Events } from '../../src/platform/events/events.js';
import { OnOutboxEvent } from '../../src/platform/events/on-outbox-event.decorator.js';

/** Returns the handlers of an application with these modules of providers. */
async function handlersOf(...modules: Type[][]): Promise<Events['handlers']> {
  const imports = modules.map((providers) => {
    @Module({ providers })
    class Feature {}
    return Feature;
  });
  @Module({
    imports: [DiscoveryModule, ...imports],
    providers: [Events, { provide: EntityManager, useValue: {} }],
  })
  class App {}
  const app = await NestFactory.createApplicationContext(App, {
    logger: false,
    abortOnError: false,
  });
  return app.get(Events).handlers;
}

@Injectable()
class Messages {
  readonly prefix = 'sent';

  @OnOutboxEvent('order.created', { timeoutMs: 5, maxAttempts: 2 })
  send(payload: unknown): string {
    return `${this.prefix} ${String(payload)}`;
  }

  @OnOutboxEvent('order.deleted')
  revoke(): void {
    throw new Error('broken');
  }
}

@Injectable({ scope: Scope.REQUEST })
class PerRequest {
  @OnOutboxEvent('order.created')
  send(): void {
    // Never called.
  }
}

describe('the handlers of events', () => {
  it('are the methods of providers with @OnOutboxEvent()', async () => {
    const [send, revoke] = await handlersOf([Messages]);
    expect(send).toMatchObject({ id: 'Messages.send', timeoutMs: 5, maxAttempts: 2 });
    expect(revoke).toMatchObject({ id: 'Messages.revoke', timeoutMs: 30_000, maxAttempts: 12 });
    const { signal } = new AbortController();
    expect(await send!.handle('a', signal)).toBe('sent a');
    await expect(revoke!.handle('a', signal)).rejects.toThrow('broken');
  });

  it.each([
    ['a request-scoped provider', [[PerRequest]], 'PerRequest.send'],
    ['a class that two modules provide', [[Messages], [Messages]], 'Messages.send'],
  ])('cannot be methods of %s', async (_title, modules, id) => {
    await expect(handlersOf(...modules)).rejects.toThrow(
      `${id}: @OnOutboxEvent() requires one singleton of this name.`,
    );
  });
});
