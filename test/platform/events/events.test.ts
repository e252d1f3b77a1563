import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { Events } from '#platform';
import features from '../../harness/features/events.js';
import { useDatabase } from '../../harness/database/database.js';
import { createOwner } from '../../harness/database/factories.js';
import { ApiClient, type ApiResponse } from '../../harness/http/client.js';
import { HANG_LIMIT_MS, until } from '../../harness/run/until.js';
import { featureFile } from '../../harness/http/store.js';
import { startService, type TestService } from '../../harness/service/service.js';
import { startTestingApp } from '../../harness/service/testing-app.js';

const POLL_MS = 20;
/** The pause of a handler without events ends on this clock. */
const CLOCK_STEP_MS = 1_000;
/** A failed event is due again in a few seconds. A running attempt holds its claim for more than 30. */
const WAITS = `last_error IS NOT NULL AND next_attempt_at BETWEEN now() AND now() + interval '20 seconds'`;

const database = useDatabase();
let service: TestService;
let replica: TestService;
let key: string;
let lastId = 0;

async function startBoth(): Promise<void> {
  const start = () => startService({ database, features: featureFile('events') });
  [service, replica] = await Promise.all([start(), start()]);
}

beforeAll(async () => {
  await database.query(
    `CREATE TABLE handled (order_id text, attempt int, at timestamptz DEFAULT now());
     CREATE TABLE audited (order_id text);
     CREATE TABLE aborted (order_id text, reason text)`,
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
    await service.advance(CLOCK_STEP_MS);
    await delay(POLL_MS);
  }
}

/** Ends the wait for the next attempt of the events of an order. */
const makeDue = (id: string, condition = 'true'): Promise<unknown> =>
  database.query(
    `UPDATE outbox_events SET next_attempt_at = now() WHERE payload::json ->> 'id' = $1 AND ${condition}`,
    [id],
  );

/** Adds an event of a handler whose attempts before have not stored a result, as after a crash. */
async function addEvent(handler: string, mode: string, attempts = 0): Promise<string> {
  const id = newId();
  await database.query(
    `INSERT INTO outbox_events (event, handler, payload, attempts) VALUES ('', $1, $2, $3)`,
    [handler, JSON.stringify({ id, mode, exact: '9007199254740993' }), attempts],
  );
  return id;
}

/** Why the signals of the attempts for an order were aborted. */
const reasonsOf = async (id: string): Promise<string[]> => {
  const query = 'SELECT reason FROM aborted WHERE order_id = $1';
  return (await database.query<{ reason: string }>(query, [id])).map(({ reason }) => reason);
};

test('a handler has 30 seconds for each of 12 attempts, unless it declares others', async () => {
  const { app } = await startTestingApp({ database, features });
  const handlers = app.get(Events).handlers.map((handler) => ({ ...handler, handle: undefined }));
  await app.close();
  expect(handlers).toEqual([
    { id: 'OrderHandlers.handle', event: 'order.created', timeoutMs: 5_000, maxAttempts: 3 },
    { id: 'OrderHandlers.audit', event: 'order.created', timeoutMs: 30_000, maxAttempts: 12 },
    { id: 'OrderHandlers.delay', event: 'order.delayed', timeoutMs: 600_000, maxAttempts: 20 },
  ]);
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

  it.each<[mode: string, title: string, reasons: string[]]>([
    ['fail-once', 'rejects', []],
    ['hang-once', 'ends when its signal is aborted at its time limit', ['TimeoutError']],
    ['ignore-once', 'exceeds its time limit and ignores its signal', []],
  ])(
    'is retried when a handler has the mode %s, because it %s, without the handlers that have succeeded',
    async (mode, _title, reasons) => {
      const id = newId();
      await post({ id, mode });
      await waitForState(id, { attempts: 2, audits: 1, waiting: 0 }, { retryNow: true });
      expect(await reasonsOf(id)).toEqual(reasons);
    },
  );

  it('is claimed for 30 seconds longer than its handler may take', async () => {
    const id = await addEvent('OrderHandlers.delay', 'hang');
    await waitForState(id, { attempts: 1 });
    const [row] = await database.query<{ longer: boolean }>(
      `SELECT next_attempt_at - at BETWEEN interval '10 minutes' AND interval '10.5 minutes' AS longer
         FROM outbox_events JOIN handled ON order_id = payload::json ->> 'id' WHERE order_id = $1`,
      [id],
    );
    expect(row).toEqual({ longer: true });
    await database.query(`DELETE FROM outbox_events WHERE payload::json ->> 'id' = $1`, [id]);
    await Promise.all([service.close(), replica.close()]);
    await startBoth();
  });

  it('waits for at most an hour after an attempt', async () => {
    const id = await addEvent('OrderHandlers.delay', 'fail', 13);
    await waitForState(id, { attempts: 1 });
    const wait = `SELECT next_attempt_at BETWEEN now() + interval '30 minutes' AND now() + interval '1 hour' AS hour
                    FROM outbox_events WHERE payload::json ->> 'id' = $1 AND last_error IS NOT NULL`;
    let rows: object[] = [];
    await until(async () => (rows = await database.query(wait, [id])).length > 0);
    expect(rows).toEqual([{ hour: true }]);
  });

  it('is parked without another attempt when the last one was interrupted by a crash', async () => {
    const id = await addEvent('OrderHandlers.handle', 'ok', 3);
    await waitForState(id, { attempts: 0, parked: 1, waiting: 0 });
    const error = `SELECT last_error AS error FROM outbox_events WHERE payload::json ->> 'id' = $1`;
    expect(await database.query(error, [id])).toEqual([
      { error: 'Error: The last attempt was interrupted.' },
    ]);
  });

  it('has one more attempt when the last but one was interrupted by a crash', async () => {
    const id = await addEvent('OrderHandlers.handle', 'ok', 2);
    await waitForState(id, { attempts: 1, parked: 0, waiting: 0 });
  });

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
    expect(await reasonsOf(id)).toEqual(['AbortError']);
    await startBoth();
    await waitForState(id, { attempts: 2, audits: 1, waiting: 0 });
  });

  it('is handled before the service has stopped, if its handler still succeeds', async () => {
    const id = newId();
    await replica.close();
    await post({ id, mode: 'finish-after-stop' });
    await waitForState(id, { attempts: 1, audits: 1 });
    await service.close();
    expect(await stateOf(id)).toEqual({ attempts: 1, audits: 1, parked: 0, waiting: 0 });
    await startBoth();
  });
});
