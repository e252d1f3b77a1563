import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type TestDatabase,
  useDatabase,
  withDatabase,
} from '../../../harness/database/database.js';
import { expectDeclaredSchema, runOnSchema } from '../../../harness/database/schema.js';

const EMPTY = { template: 'template0' };

test('the schema is, by the migrations, what the entities declare', () =>
  withDatabase((database) => expectDeclaredSchema(database)));

test('no migration is empty, as one that was saved before it was complete', () => {
  const source = join(__dirname, '../../../../src');
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' });
  const migrations = files.filter((file) => /\bmigrations\/\d+-.+\.ts$/.test(file));
  expect(migrations.length).toBeGreaterThan(0);
  for (const file of migrations)
    expect(readFileSync(join(source, file), 'utf8')).not.toMatch(/\bup\([^)]*\)[^{]*\{\s*\}/);
});

describe('a row that breaks a rule', () => {
  const database = useDatabase();

  beforeAll(async () => {
    await database.query(
      `INSERT INTO owners (name, plan) VALUES ('Taken', 'free');
       INSERT INTO api_keys (owner_id, hash, hint) VALUES (1, decode(repeat('00', 32), 'hex'), '')`,
    );
  });

  const owner = (values: string) =>
    `INSERT INTO owners (name, plan, limit_per_minute, limit_per_day) VALUES (${values})`;
  const key = (values: string) => `INSERT INTO api_keys (owner_id, hash, hint) VALUES (${values})`;

  const record = (fingerprint: string) =>
    `INSERT INTO idempotency_keys VALUES (1, 'k', ${fingerprint}, '{}', now())`;

  it.each([
    ['owners_name_key', owner(`'Taken', 'pro', NULL, NULL`)],
    ['owners_limits_check', owner(`'A', 'free', 1, NULL`)],
    ['owners_limits_check', owner(`'A', 'enterprise', 1, NULL`)],
    ['owners_limits_check', owner(`'A', 'enterprise', NULL, 1`)],
    ['owners_limits_check', owner(`'A', 'enterprise', 0, 1`)],
    ['owners_limits_check', owner(`'A', 'enterprise', 1, -1`)],
    ['api_keys_hash_check', key(`1, '\\x00', ''`)],
    ['api_keys_hash_key', key(`1, decode(repeat('00', 32), 'hex'), ''`)],
    ['api_keys_access_check', `UPDATE api_keys SET access = 'write'`],
    ['api_keys_note_check', `UPDATE api_keys SET note = ''`],
    ['api_keys_owner_id_fkey', key(`99, decode(repeat('01', 32), 'hex'), ''`)],
    ['idempotency_keys_fingerprint_check', record(`'\\x00'`)],
    [
      'idempotency_keys_pkey',
      `${record(`decode(repeat('00', 32), 'hex')`)}; ${record(`decode(repeat('00', 32), 'hex')`)}`,
    ],
  ])('is rejected by %s: %s', async (constraint, sql) => {
    await expect(database.query(sql)).rejects.toMatchObject({ constraint });
  });

  // The store lists its plans in its code, so the table accepts every name.
  it.each([owner(`'Big', 'enterprise', 1, 2000000000`), owner(`'Small', 'gold', NULL, NULL`)])(
    'is not this one: %s',
    async (sql) => {
      await expect(database.query(sql)).resolves.toEqual([]);
    },
  );
});

/**
 * Resolves when two replicas wait: both for a lock of the server, or one for the other to be done.
 */
async function untilTwoWait(database: TestDatabase): Promise<void> {
  const activity = `
    SELECT count(*) FILTER (WHERE wait_event_type = 'Lock')::int AS blocked,
           count(*) FILTER (WHERE query LIKE '%pg_try_advisory_lock%')::int AS asking
      FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`;
  for (let reached = false; !reached;) {
    // Within a transaction, what is seen of others stays as it was.
    await database.query('SELECT pg_stat_clear_snapshot()');
    const [now] = await database.query<{ blocked: number; asking: number }>(activity);
    reached = now!.blocked > 0 && Math.max(now!.blocked, now!.asking) > 1;
  }
}

describe('migrations', () => {
  it('run once when two replicas start on an empty database at the same time', () =>
    withDatabase(async (database) => {
      // The first one to migrate has to wait for this table; the other one comes meanwhile.
      await database.query('BEGIN; CREATE TABLE owners ()');
      // Both have to wait at the same time, however busy the machine is.
      const env = { DATABASE_LOCK_TIMEOUT_SECONDS: '20' };
      const replicas = [1, 2].map(() => runOnSchema<string[]>('migrate', database, env));
      await untilTwoWait(database);
      await database.query('ROLLBACK');

      const ran = (await Promise.all(replicas)).flat();
      const [row] = await database.query<{ names: string[] }>(
        'SELECT array_agg(name::text ORDER BY id) AS names FROM migrations',
      );
      expect(ran).toEqual(row!.names);
    }, EMPTY));

  it('leave an up-to-date schema alone, without waiting for a process that migrates', () =>
    withDatabase(async (database) => {
      await database.query('SELECT pg_advisory_lock(7236114901)');
      expect(await runOnSchema('migrate', database)).toEqual([]);
    }));
});
