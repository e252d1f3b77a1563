import { DataSource } from 'typeorm';
import { EventsRepository } from '../../src/platform/events/events.repository.js';
import { OutboxEvent } from '../../src/platform/events/outbox-event.entity.js';
import { closeBeforeDatabases, useDatabase } from '../harness/database/database.js';

const database = useDatabase();
let dataSource: DataSource;
let repository: EventsRepository;

beforeAll(async () => {
  dataSource = new DataSource({ type: 'postgres', url: database.url, entities: [OutboxEvent] });
  await dataSource.initialize();
  closeBeforeDatabases(() => dataSource.destroy());
  repository = new EventsRepository(dataSource.manager);
});
beforeEach(() => database.query('TRUNCATE outbox_events'));

const add = (count: number, handler = 'h'): Promise<unknown> =>
  database.query(
    `INSERT INTO outbox_events (event, handler, payload)
     SELECT 'e', $1, number FROM generate_series(1, $2) AS number`,
    [handler, count],
  );

describe('events that are due', () => {
  it('are claimed once by claims at the same time, and not again before the claim ends', async () => {
    await add(20);
    const claims = await Promise.all(
      Array.from({ length: 20 }, () => repository.claim('h', 60_000)),
    );
    const ids = claims.flatMap((event) => (event ? [event.id] : []));
    expect(new Set(ids).size).toBe(ids.length);
    while (await repository.claim('h', 60_000));
    const rows = await database.query('SELECT DISTINCT attempts FROM outbox_events');
    expect(rows).toEqual([{ attempts: 1 }]);
  });

  it('are claimed again when the claim has ended', async () => {
    await add(1);
    const first = await repository.claim('h', -1);
    const second = await repository.claim('h', 60_000);
    expect(second).toMatchObject({ id: first?.id, attempts: 2 });
    // The first claim has no effect any more.
    await repository.retry(first!, null, { lastError: 'late' });
    const rows = await database.query('SELECT attempts, last_error FROM outbox_events');
    expect(rows).toEqual([{ attempts: 2, last_error: null }]);
  });

  it('are not claimed by another handler', async () => {
    await add(1, 'other');
    expect(await repository.claim('h', 1)).toBeUndefined();
  });

  it('are found by their index among many of other handlers and many that are not due', async () => {
    await add(20_000, 'other');
    await add(20_000);
    await database.query(
      `UPDATE outbox_events SET next_attempt_at = now() + interval '1 hour'
        WHERE handler = 'h' AND payload::int > 10`,
    );
    await database.query('ANALYZE outbox_events');
    const plan = await database.query(
      `EXPLAIN SELECT ctid FROM outbox_events WHERE handler = 'h' AND next_attempt_at <= now()
        ORDER BY next_attempt_at LIMIT 1 FOR UPDATE SKIP LOCKED`,
    );
    expect(JSON.stringify(plan)).toContain(
      'Index Scan using outbox_events_handler_next_attempt_at_idx',
    );
  });
});
