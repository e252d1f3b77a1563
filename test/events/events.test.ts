import { setImmediate, setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { SYSTEM_CLOCK } from '../../src/platform/config/clock.js';
import { EventDelivery } from '../../src/platform/events/event-delivery.js';
import { useDatabase } from '../harness/database/database.js';
import { createOwner } from '../harness/database/factories.js';
import { ApiClient, type ApiResponse } from '../harness/http/client.js';
import { HANG_LIMIT_MS, until } from '../harness/run/until.js';
import { featureFile } from '../harness/http/store.js';
import { startService, type TestService } from '../harness/service/service.js';

const features = featureFile('events');
const POLL_MS = 20;
/** A failed event is due again in a few seconds. A running attempt holds its claim for more than 30. */
const WAITS = `last_error IS NOT NULL AND next_attempt_at BETWEEN now() AND now() + interval '20 seconds'`;

const database = useDatabase();
let service: TestService;
let replica: TestService;
let key: string;
let lastId = 0;

async function startBoth(): Promise<void> {
  const start = () => startService({ database, features });
  [service, replica] = await Promise.all([start(), start()]);
}

beforeAll(async () => {
  await database.query(
    'CREATE TABLE handled (order_id text, attempt int); CREATE TABLE audited (order_id text)',
  );
  ({ key } = await createOwner(database));
  await startBoth();
});

const newId = (): string => `order-${++lastId}`;

const post = (order: object, headers: Record<string, string> = {}): Promise<ApiResponse> =>
  new ApiClient(service, key).post('/v1/orders', order, headers);

/** How often each handler has been called for an order, and the events that remain. */
type State = Record<'attempts' | 'audits' | 'parked' | 'waiting', number>;

async function stateOf(id: string): Promise<State> {
  const [row] = await database.query<State>(
    `SELECT (SELECT count(*)::int FROM handled WHERE order_id = $1) AS attempts,
            (SELECT count(*)::int FROM audited WHERE order_id = $1) AS audits,
            count(*) FILTER (WHERE next_attempt_at IS NULL)::int AS parked,
            count(*) FILTER (WHERE next_attempt_at IS NOT NULL)::int AS waiting
       FROM outbox_events WHERE payload::json ->> 'id' = $1`,
    [id],
  );
  return row!;
}

/** Waits until the order has this state. Makes its events due again meanwhile if asked to. */
async function waitForState(
  id: string,
  expected: Partial<State>,
  { retryNow = false } = {},
): Promise<void> {
  for (let waited = 0; ; waited += POLL_MS) {
    const state = await stateOf(id);
    if (waited > HANG_LIMIT_MS) expect(state).toMatchObject(expected);
    if (isDeepStrictEqual({ ...state, ...expected }, { ...state })) return;
    if (retryNow) await makeDue(id, WAITS);
    await delay(POLL_MS);
  }
}

/** Ends the wait for the next attempt of the events of an order. */
const makeDue = (id: string, condition = 'true'): Promise<unknown> =>
  database.query(
    `UPDATE outbox_events SET next_attempt_at = now() WHERE payload::json ->> 'id' = $1 AND ${condition}`,
    [id],
  );

test('an event is claimed for longer than its handler may take, and waits for at most an hour', async () => {
  const waits: number[] = [];
  const handle = () => Promise.reject(new Error('no'));
  const handlers = [{ id: 'a', event: 'a', timeoutMs: 60_000, maxAttempts: 20, handle }];
  const event = { id: 1n, attempts: 13, payload: '1' };
  const repository = {
    claim: (_id: string, leaseMs: number) =>
      Promise.resolve(waits.push(leaseMs) === 1 ? event : undefined),
    retry: (_event: object, delayMs: number) => Promise.resolve(waits.push(delayMs)),
  };
  const delivery = new EventDelivery(
    { handlers } as never,
    repository as never,
    {} as never,
    SYSTEM_CLOCK,
  );
  delivery.onApplicationBootstrap();
  await until(() => waits.length > 1);
  await delivery.onModuleDestroy();
  expect(waits.slice(0, 2)).toEqual([90_000, 3_600_000]);
});

test('the service stops after the event handlers in progress have ended', async () => {
  const steps: string[] = [];
  let finish: (() => void) | undefined;
  const handle = () => new Promise<void>((resolve) => (finish = resolve));
  const handlers = [{ id: 'a', event: 'a', timeoutMs: 60_000, maxAttempts: 20, handle }];
  const repository = {
    claim: () => Promise.resolve({ id: 1n, attempts: 1, payload: '1' }),
    delete: () => Promise.resolve(steps.push('handled')),
  };
  const delivery = new EventDelivery(
    { handlers } as never,
    repository as never,
    {} as never,
    SYSTEM_CLOCK,
  );
  delivery.onApplicationBootstrap();
  await until(() => finish !== undefined);
  const stopped = delivery.onModuleDestroy().then(() => steps.push('stopped'));
  await setImmediate();
  finish?.();
  await stopped;
  expect(steps).toEqual(['handled', 'stopped']);
});

describe('an event of POST /v1/orders', () => {
  it('201 is delivered to each handler after the commit, its rows are deleted, and a replay is not published', async () => {
    const id = newId();
    const headers = { 'Idempotency-Key': id };
    expect((await post({ id, mode: 'ok' }, headers)).status).toBe(201);
    await waitForState(id, { attempts: 1, audits: 1, waiting: 0 });
    const replay = await post({ id, mode: 'ok' }, headers);
    expect(replay.headers).toHaveProperty('idempotent-replayed');
    expect(await stateOf(id)).toEqual({ attempts: 1, audits: 1, parked: 0, waiting: 0 });
  });

  it('500 and rolled back is not published', async () => {
    const id = newId();
    expect((await post({ id, mode: 'rollback' })).status).toBe(500);
    expect(await stateOf(id)).toEqual({ attempts: 0, audits: 0, parked: 0, waiting: 0 });
  });

  it('500 that the log explains outside of a transaction, and for an event without a handler', async () => {
    expect((await post({ id: newId(), mode: 'no-transaction' })).status).toBe(500);
    expect((await post({ id: newId(), mode: 'no-handler' })).status).toBe(500);
    for (const message of [
      'is published outside of a transaction',
      "No provider has @OnOutboxEvent('order.deleted')",
    ]) {
      await service.waitForLog((line) => JSON.stringify(line).includes(message));
    }
  });

  it.each(['fail-once', 'hang-once'])(
    'is retried when a handler has the mode %s, without the handlers that have succeeded',
    async (mode) => {
      const id = newId();
      await post({ id, mode });
      await waitForState(id, { attempts: 2, audits: 1, waiting: 0 }, { retryNow: true });
    },
  );

  it('is parked after its last attempt, with its error, and logged', async () => {
    const id = newId();
    await post({ id, mode: 'fail' });
    await waitForState(id, { attempts: 3, parked: 1, waiting: 0 }, { retryNow: true });
    const [row] = await database.query<{ error: string; event_id: string }>(
      `SELECT last_error AS error, id::text AS event_id FROM outbox_events WHERE payload::json ->> 'id' = $1`,
      [id],
    );
    expect(row?.error).toBe('Error: The warehouse is closed.');
    const isLine = ({ level, eventId }: Record<string, unknown>): boolean =>
      level === 50 && eventId === row?.event_id;
    await Promise.race([service.waitForLog(isLine), replica.waitForLog(isLine)]);
  });

  it('is handled once by two replicas, also with many events', async () => {
    const ids = Array.from({ length: 60 }, newId);
    await Promise.all(ids.map((id) => post({ id, mode: 'ok' })));
    for (const id of ids) await waitForState(id, { attempts: 1, audits: 1, waiting: 0 });
  });

  it('has the result of its latest attempt, not of one that ends later', async () => {
    const id = newId();
    const ofHandler = `payload::json ->> 'id' = '${id}' AND handler = 'OrderHandlers.handle'`;
    await post({ id, mode: 'hang-once' });
    await waitForState(id, { attempts: 1 });
    const later = `UPDATE outbox_events SET attempts = 2, next_attempt_at = 'infinity' WHERE ${ofHandler} RETURNING id::text`;
    const [{ id: eventId }] = (await database.query<{ id: string }>(later)) as [{ id: string }];
    const hasFailed = (line: Record<string, unknown>) => line['eventId'] === eventId;
    await Promise.race([service.waitForLog(hasFailed), replica.waitForLog(hasFailed)]);
    await Promise.all([service.close(), replica.close()]);
    const row = `SELECT last_error AS error, next_attempt_at = 'infinity' AS later FROM outbox_events WHERE ${ofHandler}`;
    expect(await database.query(row)).toEqual([{ error: null, later: true }]);
    await startBoth();
  });

  it('is released when the service stops while a handler runs', async () => {
    const id = newId();
    await replica.close();
    await post({ id, mode: 'hang-once' });
    await waitForState(id, { attempts: 1 });
    await service.close();
    const [row] = await database.query<{ attempts: number; due: boolean }>(
      `SELECT attempts, next_attempt_at <= now() AS due FROM outbox_events
        WHERE payload::json ->> 'id' = $1 AND handler = 'OrderHandlers.handle'`,
      [id],
    );
    expect(row).toEqual({ attempts: 0, due: true });
    await startBoth();
    await waitForState(id, { attempts: 2, audits: 1, waiting: 0 });
  });
});
