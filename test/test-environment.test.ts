import {
  type PooledDatabase,
  returnDatabase,
  stateOf,
  takeDatabase,
} from './harness/database/database-pool.js';
import { withDatabase } from './harness/database/database.js';
import { createItems } from './harness/database/factories.js';

const ITEMS = { template: 'test_template' };

test('a database that a test has filled is empty when it is used again, and its session is as new', async () => {
  const used: unknown[] = [];
  for (let time = 1; time <= 2; time++) {
    await withDatabase(async (database) => {
      expect(await database.query('SHOW work_mem')).toEqual([{ work_mem: '4MB' }]);
      await database.query("SET work_mem = '1MB'");
      expect(await database.query('SELECT FROM test_items')).toEqual([]);
      used.push([database.name, await createItems(database, 2)]);
      await database.query("CREATE TABLE added (); UPDATE test_items SET status = 'sold'");
      await database.query("INSERT INTO migrations (timestamp, name) VALUES (1, 'added')");
    }, ITEMS);
  }
  expect(used[1]).toEqual(used[0]);
});

test('a database in which a test has changed more than rows is not used again', async () => {
  const names: string[] = [];
  await withDatabase(async (database) => {
    names.push(database.name);
    await database.query('ALTER TABLE test_items ALTER name DROP NOT NULL');
  }, ITEMS);
  await withDatabase(({ name }) => Promise.resolve(void names.push(name)), ITEMS);
  expect(new Set(names).size).toBe(2);
});

describe('the state of a database, in which the next test file must find it', () => {
  let database: PooledDatabase;
  beforeAll(async () => (database = await takeDatabase(ITEMS.template)));
  afterAll(() => returnDatabase(database));

  test.each([
    ['a column', 'ALTER TABLE test_items ALTER name DROP NOT NULL'],
    ['a default', 'ALTER TABLE test_items ALTER name SET DEFAULT 1'],
    ['a constraint', 'ALTER TABLE test_items ADD CHECK (id > 0)'],
    ['an index', 'DROP INDEX idempotency_keys_expires_at_idx'],
    ['a row of the template', 'UPDATE key_secret SET secret = secret'],
    ['a missing row of the template', 'DELETE FROM key_secret'],
    ['a function', "CREATE FUNCTION one() RETURNS int LANGUAGE sql AS 'SELECT 1'"],
    ['a setting', 'ALTER DATABASE current SET work_mem = 1000'],
    ['statistics', 'ANALYZE key_secret'],
    ['its rights', 'REVOKE CONNECT ON DATABASE current FROM PUBLIC'],
  ])('differs after a change of %s', async (_, change) => {
    const { name, client, filled, state } = database;
    await client.query('BEGIN');
    await client.query(change.replace(/current\b/, name));
    const changed = await stateOf(client, filled);
    await client.query('ROLLBACK');
    expect(changed).not.toBe(state);
    expect(await stateOf(client, filled)).toBe(state);
  });
});
