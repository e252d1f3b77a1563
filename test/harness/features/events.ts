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

const FAILURE = new Error('The warehouse is closed.');

/** Resolves to the reason when the signal is aborted. */
const reasonOf = (signal: AbortSignal): Promise<Error> =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve(signal.reason as Error)));

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
    if (mode === 'fail' || (mode === 'fail-once' && attempt === 1)) throw FAILURE;
    if (mode === 'ignore-once' && attempt === 1) await new Promise(() => undefined);
    if (mode === 'hang-once' && attempt === 1) {
      const { name } = await reasonOf(signal);
      await this.manager.query('INSERT INTO aborted VALUES ($1, $2)', [id, name]);
      throw new Error(name);
    }
    if (mode === 'finish-after-stop') {
      await reasonOf(signal);
      // Other parts of the service that stop at the same time end before this.
      await this.manager.query('SELECT pg_sleep(0.2)');
    }
  }

  @OnOutboxEvent('order.created')
  async audit({ id }: NewOrder) {
    await this.manager.query('INSERT INTO audited VALUES ($1)', [id]);
  }

  @OnOutboxEvent('order.delayed', { maxAttempts: 20, timeoutMs: 600_000 })
  async delay({ id, mode }: NewOrder, signal: AbortSignal) {
    await this.manager.query('INSERT INTO handled VALUES ($1, 1)', [id]);
    if (mode === 'fail') throw FAILURE;
    await reasonOf(signal);
  }
}

@Module({
  imports: [EventsModule, IdempotencyModule],
  controllers: [OrdersController],
  providers: [OrderHandlers],
})
class OrdersFeature {}
export default [OrdersFeature];
