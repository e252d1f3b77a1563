// A stream of the changes that all replicas make. docs/extending.md refers to it.
import {
  Controller,
  Injectable,
  Module,
  type BeforeApplicationShutdown,
  type OnModuleInit,
  Post,
  Sse,
} from '@nestjs/common';
import { Redis } from 'ioredis';
import { Subject } from 'rxjs';
import { EntityManager } from 'typeorm';
import { Events, EventsModule, OnOutboxEvent, readSettings } from '#platform';

@Injectable()
class Changes implements BeforeApplicationShutdown, OnModuleInit {
  private readonly publisher = new Redis(readSettings((read) => read.secret('REDIS_URL', '')));
  private readonly subscriber = this.publisher.duplicate();
  readonly messages = new Subject<{ data: string }>();

  async onModuleInit(): Promise<void> {
    this.subscriber.on('message', (_channel, data: string) => this.messages.next({ data }));
    await this.subscriber.subscribe('changes');
  }

  /** Runs on one replica, which publishes the change to all of them. */
  @OnOutboxEvent('changed')
  async publish(change: object): Promise<void> {
    await this.publisher.publish('changes', JSON.stringify(change));
  }

  beforeApplicationShutdown(): void {
    this.messages.complete();
    this.publisher.disconnect();
    this.subscriber.disconnect();
  }
}

@Controller('changes')
class ChangesController {
  constructor(
    private readonly changes: Changes,
    private readonly events: Events,
    private readonly manager: EntityManager,
  ) {}

  @Sse()
  stream() {
    return this.changes.messages;
  }

  @Post()
  create() {
    return this.manager.transaction(() => this.events.publish('changed', { toy: 1 }));
  }
}

@Module({ imports: [EventsModule], controllers: [ChangesController], providers: [Changes] })
class ChangesFeature {}
export default [ChangesFeature];
