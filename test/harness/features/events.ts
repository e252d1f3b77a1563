// A feature that publishes events, and handlers that behave as the payload says.
import { Body, Controller, Injectable, Module, Post } from '@nestjs/common';
import { IsString } from 'class-validator';
import { EntityManager } from 'typeorm';
import {
  Caller,
  Events,
  EventsModule,
  Idempotency,
  IdempotencyKey,
  IdempotencyModule,
  OnOutboxEvent,
} from '#platform';

const EXACT = '9007199254740993';

class NewOrder {
  @IsString()
  id!: string;

  @IsString()
  mode!: string;
}

@Controller('orders')
class OrdersController {
  constructor(
    private readonly idempotency: Idempotency,
    private readonly events: Events,
    private readonly manager: EntityManager,
  ) {}

  @Post()
  create(
    @Body() order: NewOrder,
    @Caller() { ownerId }: Caller,
    @IdempotencyKey() key?: IdempotencyKey,
  ) {
    const publish = () => this.publish(order);
    if (order.mode === 'no-transaction') return publish();
    if (key === undefined) return this.manager.transaction(publish);
    const request = { ownerId, key, operation: 'createOrder', content: order };
    return this.idempotency.once(request, publish);
  }

  private async publish({ id, mode }: NewOrder) {
    const event = mode === 'no-handler' ? 'order.deleted' : 'order.created';
    await this.events.publish(event, { id, mode, exact: EXACT });
    if (mode === 'rollback') throw new Error('The order is rejected.');
    return { id };
  }
}

/** Also for the handlers that succeed. */
const timeoutMs = 5_000;

@Injectable()
class OrderHandlers {
  constructor(private readonly manager: EntityManager) {}

  @OnOutboxEvent('order.created', { maxAttempts: 3, timeoutMs })
  async handle({ id, mode, exact }: NewOrder & { exact: string }, signal: AbortSignal) {
    if (exact !== EXACT) throw new Error(`inexact: ${exact}`);
    const [{ attempt }] = await this.manager.query(
      `INSERT INTO handled (order_id, attempt)
       SELECT $1, count(*) + 1 FROM handled WHERE order_id = $1 RETURNING attempt`,
      [id],
    );
    if (mode === 'fail' || (mode === 'fail-once' && attempt === 1)) {
      throw new Error('The warehouse is closed.');
    }
    if (mode === 'hang' || (mode === 'hang-once' && attempt === 1)) {
      await new Promise((_resolve, reject) =>
        signal.addEventListener('abort', () => reject(new Error('aborted'))),
      );
    }
  }

  @OnOutboxEvent('order.created')
  async audit({ id }: NewOrder) {
    await this.manager.query('INSERT INTO audited VALUES ($1)', [id]);
  }
}

@Module({
  imports: [EventsModule, IdempotencyModule],
  controllers: [OrdersController],
  providers: [OrderHandlers],
})
class OrdersFeature {}
export default [OrdersFeature];
