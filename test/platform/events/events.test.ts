import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { useDatabase } from '../../harness/database/database.js';
import { holdTable } from '../../harness/database/database-lock.js';
import { createOwner } from '../../harness/database/factories.js';
import { ApiClient, type ApiResponse } from '../../harness/http/client.js';
import { HANG_LIMIT_MS, until } from '../../harness/run/until.js';
import { featureFile } from '../../harness/http/store.js';
import { type LogLine, startService, type TestService } from '../../harness/service/service.js';

const POLL_MS = 20;
/** The pause of a handler without events ends on this clock. */
const CLOCK_STEP_MS = 1_000;
/** A failed event is due again in a few seconds. A running attempt holds its claim for more than 30. */
const RETRY_NOW = `
  UPDATE outbox_events SET next_attempt_at = now()
   WHERE last_error IS NOT NULL AND next_attempt_at BETWEEN now() AND now() + interval '20 seconds'`;

const database = useDatabase();
let replicas: TestService[];
let key: string;
let lastId = 0;

async function start(count: number): Promise<void> {
  const services = Array.from({ length: count }, () =>
    startService({ database, features: featureFile('events') }),
  );
  replicas = await Promise.all(services);
}

const stop = () => Promise.all(replicas.map((replica) => replica.close()));

const waitForLog = (condition: (line: LogLine) => boolean) =>
  Promise.race(replicas.map((replica) => replica.waitForLog(condition)));

beforeAll(async () => {
  await database.query(
    `CREATE TABLE handled (order_id text, attempt int);
     CREATE TABLE audited (order_id text);
     CREATE TABLE aborted (order_id text, reason text)`,
  );
  ({ key } = await createOwner(database));
  await start(2);
});

const newId = (): string => `order-${++lastId}`;

const post = (order: object, headers: Record<string, string> = {}): Promise<ApiResponse> =>
  new ApiClient(replicas[0]!, key).post('/v1/orders', order, headers);

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

/** Waits until the order has this state. Makes failed events due again meanwhile if asked to. */
async function waitForState(
  id: string,
  expected: Partial<State>,
  { retryNow = false } = {},
): Promise<void> {
  for (let waited = 0; ; waited += POLL_MS) {
    const state = await stateOf(id);
    if (waited > HANG_LIMIT_MS) expect(state).toMatchObject(expected);
    if (isDeepStrictEqual({ ...state, ...expected }, { ...state })) return;
    if (retryNow) await database.query(RETRY_NOW);
    await endPauses();
    await delay(POLL_MS);
  }
}

/** Lets each replica look for events at its next tick, also for those of other processes. */
async function endPauses(): Promise<void> {
  await Promise.all(replicas.map((replica) => replica.advance(CLOCK_STEP_MS)));
}

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

describe('an event whose handler fails', () => {
  const ids: Record<string, string> = {};

  // The two that reach their time limit do so at the same time, each in one of the replicas.
  beforeAll(async () => {
    for (const mode of ['fail', 'fail-once', 'hang-once', 'ignore-once']) {
      ids[mode] = newId();
      await post({ id: ids[mode], mode });
    }
  });

  it.each<[mode: string, title: string, reasons: string[]]>([
    ['fail-once', 'rejects', []],
    ['hang-once', 'ends when its signal is aborted at its time limit', ['TimeoutError']],
    ['ignore-once', 'exceeds its time limit and ignores its signal', []],
  ])(
    'is retried when a handler has the mode %s, because it %s, without the handlers that have succeeded',
    async (mode, _title, reasons) => {
      const id = ids[mode]!;
      await waitForState(id, { attempts: 2, audits: 1, waiting: 0 }, { retryNow: true });
      expect(await reasonsOf(id)).toEqual(reasons);
    },
  );

  it('is parked after its last attempt, with its error, and logged', async () => {
    const id = ids['fail']!;
    await waitForState(id, { attempts: 3, parked: 1, waiting: 0 }, { retryNow: true });
    const [row] = await database.query<{ error: string; event_id: string }>(
      `SELECT last_error AS error, id::text AS event_id FROM outbox_events WHERE payload::json ->> 'id' = $1`,
      [id],
    );
    expect(row?.error).toBe('Error: The warehouse is closed.');
    const isLine = ({ level, eventId }: Record<string, unknown>): boolean =>
      level === 50 && eventId === row?.event_id;
    await waitForLog(isLine);
  });
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
      await waitForLog((line) => JSON.stringify(line).includes(message));
    }
  });

  it.each([
    ['OrderHandlers.delay', 'as it declares', '10 minutes'],
    ['OrderHandlers.audit', 'by default', '30 seconds'],
  ])(
    'is claimed for 30 seconds longer than %s may take (%s, %s)',
    async (handler, _title, timeLimit) => {
      const held = await holdTable(database, 'handled, audited', 'SHARE');
      const id = await addEvent(handler, 'fail');
      const lease = `
        SELECT next_attempt_at - created_at >= $2::interval + interval '30 seconds' AS long,
               next_attempt_at - now() <= $2::interval + interval '30 seconds' AS exact
          FROM outbox_events WHERE payload::json ->> 'id' = $1 AND attempts = 1`;
      let rows: object[] = [];
      await until(async () => {
        await endPauses();
        rows = await database.query(lease, [id, timeLimit]);
        return rows.length > 0;
      });
      await held.release();
      expect(rows).toEqual([{ long: true, exact: true }]);
    },
  );

  it('waits for at most an hour after an attempt', async () => {
    const id = await addEvent('OrderHandlers.delay', 'fail', 13);
    await waitForState(id, { attempts: 1 });
    const wait = `SELECT next_attempt_at BETWEEN now() + interval '30 minutes' AND now() + interval '1 hour' AS hour
                    FROM outbox_events WHERE payload::json ->> 'id' = $1 AND last_error IS NOT NULL`;
    let rows: object[] = [];
    await until(async () => (rows = await database.query(wait, [id])).length > 0);
    expect(rows).toEqual([{ hour: true }]);
  });

  it.each([
    ['OrderHandlers.handle', 3],
    ['OrderHandlers.audit', 12],
  ])(
    'is parked when the last of the attempts of %s (%i) was interrupted by a crash, and not before',
    async (handler, maxAttempts) => {
      const last = await addEvent(handler, 'ok', maxAttempts);
      const lastButOne = await addEvent(handler, 'ok', maxAttempts - 1);
      await waitForState(last, { attempts: 0, audits: 0, parked: 1, waiting: 0 });
      const error = `SELECT last_error AS error FROM outbox_events WHERE payload::json ->> 'id' = $1`;
      expect(await database.query(error, [last])).toEqual([
        { error: 'Error: The last attempt was interrupted.' },
      ]);
      await waitForState(lastButOne, { parked: 0, waiting: 0 });
      const { attempts, audits } = await stateOf(lastButOne);
      expect(attempts + audits).toBe(1);
    },
  );

  it('is handled once by two replicas, also with many events', async () => {
    const ids = Array.from({ length: 60 }, newId);
    await Promise.all(ids.map((id) => post({ id, mode: 'ok' })));
    for (const id of ids) await waitForState(id, { attempts: 1, audits: 1, waiting: 0 });
  });

  it('has the result of its latest attempt, not of one that ends later', async () => {
    const held = await holdTable(database, 'handled', 'SHARE');
    const id = newId();
    const ofHandler = `payload::json ->> 'id' = '${id}' AND handler = 'OrderHandlers.handle'`;
    await post({ id, mode: 'fail' });
    // Not the wait for the lock, because events of earlier tests are tried again.
    const claimed = `SELECT 1 FROM outbox_events WHERE ${ofHandler} AND attempts = 1`;
    await until(async () => (await database.query(claimed)).length > 0);
    const later = `UPDATE outbox_events SET attempts = 2, next_attempt_at = 'infinity' WHERE ${ofHandler} RETURNING id::text`;
    const [{ id: eventId }] = (await database.query<{ id: string }>(later)) as [{ id: string }];
    const hasFailed = waitForLog((line) => line['eventId'] === eventId);
    await held.release();
    await hasFailed;
    await stop();
    const row = `SELECT last_error AS error, next_attempt_at = 'infinity' AS later FROM outbox_events WHERE ${ofHandler}`;
    expect(await database.query(row)).toEqual([{ error: null, later: true }]);
  });
});

describe('an event whose service stops', () => {
  it('is released when its handler is interrupted', async () => {
    await start(1);
    const id = newId();
    await post({ id, mode: 'hang-once' });
    await waitForState(id, { attempts: 1 });
    await stop();
    const [row] = await database.query<{ attempts: number; due: boolean }>(
      `SELECT attempts, next_attempt_at <= now() AS due FROM outbox_events
        WHERE payload::json ->> 'id' = $1 AND handler = 'OrderHandlers.handle'`,
      [id],
    );
    expect(row).toEqual({ attempts: 0, due: true });
    expect(await reasonsOf(id)).toEqual(['AbortError']);
    await start(1);
    await waitForState(id, { attempts: 2, audits: 1, waiting: 0 });
  });

  it('is handled before the service has stopped, if its handler still succeeds', async () => {
    const id = newId();
    await post({ id, mode: 'finish-after-stop' });
    await waitForState(id, { attempts: 1, audits: 1 });
    await stop();
    expect(await stateOf(id)).toEqual({ attempts: 1, audits: 1, parked: 0, waiting: 0 });
  });
});
