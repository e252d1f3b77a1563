import { Settings } from '../../../src/platform/config/settings.js';
import { connectionConfig } from '../../../src/platform/database/data-source-options.js';
import { PipelinedStatements } from '../../../src/platform/database/pipelining/pipelined-statements.js';
import { BoundedPool } from '../../../src/platform/database/pools/bounded-pool.js';
import { type TestDatabase, useDatabase, withDatabase } from '../../harness/database/database.js';
import { createKey } from '../../harness/database/factories.js';
import { ApiClient } from '../../harness/http/client.js';
import { expectError } from '../../harness/http/error-response.js';
import { useStore } from '../../harness/http/store.js';
import { Cli } from '../../harness/processes/command.js';
import { PRODUCT } from '../../../src/product.js';

/** Defaults of a database with which results would be different. */
const DEFAULTS = {
  datestyle: 'German',
  intervalstyle: 'iso_8601',
  timezone: 'Asia/Kathmandu',
  bytea_output: 'escape',
  extra_float_digits: '-15',
  client_encoding: 'LATIN1',
  default_transaction_isolation: 'serializable',
  default_transaction_read_only: 'on',
  standard_conforming_strings: 'off',
  synchronous_commit: 'off',
};

async function setDefaults(database: TestDatabase, defaults: object = DEFAULTS): Promise<void> {
  for (const [name, value] of Object.entries(defaults)) {
    await database.query(`ALTER DATABASE ${database.name} SET ${name} = '${value}'`);
  }
}

async function withPool(url: string, work: (pool: BoundedPool) => Promise<void>): Promise<void> {
  const { database } = new Settings(PRODUCT, { DATABASE_URL: url });
  const pool = new BoundedPool(connectionConfig(database.connection!, database));
  // The drop of the database ends a connection that has not closed yet.
  pool.on('error', () => undefined);
  await work(pool).finally(() => pool.end());
}

describe('a database whose settings change the form of text', () => {
  const store = useStore(async (database) => {
    await setDefaults(database);
    return { database };
  });

  test('an expired and a rotated API key get 401, and a create gets 201', async () => {
    const { keyId } = await createKey(store.database, store.owner.id);
    const { key } = await createKey(store.database, store.owner.id, { expiresAtMs: 1 });
    expectError(await new ApiClient(store.service, key).get('/v1/items'), 401, 'invalid_api_key');
    const created = await store.api.post('/v1/items', { name: '日本', categoryId: 1 });
    expect(created).toMatchObject({ status: 201, json: { name: '日本' } });
    expect((await store.api.get('/v1/items')).json).toEqual([created.json]);
    const cli = new Cli({ DATABASE_URL: store.database.url });
    const { key: successor } = await cli.json('keys', 'rotate', keyId, '--overlap', '0');
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT/) as unknown;
    const keys: unknown = await cli.json('keys', 'list');
    expect(keys).toContainEqual(
      expect.objectContaining({ id: Number(keyId), createdAt: time, expiresAt: time }),
    );
    expect((await cli.json('audit', 'list'))[0]).toMatchObject({ performedAt: time });
    expect((await new ApiClient(store.service, String(successor)).get('/v1/items')).status).toBe(
      200,
    );
  });

  test('each connection has the same settings, for statements of batches too', async () => {
    const sql = `
      SELECT timestamptz '2026-11-26 10:00:00.5+00'::text, date '2026-11-26', '02/01/2026'::date,
             make_interval(days => 1, hours => 2)::text, '\\x00ff'::bytea::text, 0.1::float8 + 0.2,
             current_setting('transaction_isolation'), current_setting('synchronous_commit')`;
    const row = [
      '2026-11-26 10:00:00.5+00',
      '2026-11-26',
      '2026-02-01',
      '1 day 02:00:00',
      '\\x00ff',
      0.1 + 0.2,
      'read committed',
      'on',
    ];
    await withPool(store.database.url, async (pool) => {
      const statements = new PipelinedStatements(pool);
      expect(await statements.read(sql, [], (columns) => columns)).toEqual([row]);
      expect((await pool.query({ text: sql, rowMode: 'array' })).rows).toEqual([row]);
    });
  });

  test.each(["'infinity'", "'290000-01-01'"])('an expiry of %s › 503, not 200', async (expiry) => {
    const { key, keyId } = await createKey(store.database, store.owner.id);
    await store.query(`UPDATE api_keys SET expires_at = ${expiry} WHERE id = $1`, [keyId]);
    const response = await new ApiClient(store.service, key).get('/v1/items');
    expectError(response, 503, 'service_unavailable');
  });
});

describe('a timestamp that cannot be parsed', () => {
  const database = useDatabase();

  test.each(['now()', 'localtimestamp', "timestamptz '290000-01-01'"])(
    'is an error of its statement only: %s',
    async (time) => {
      await withPool(database.url, async (pool) => {
        const style = `set_config('datestyle', 'SQL, MDY', false)`;
        const sql = `SELECT ${style}, ${time} WHERE $1`;
        await expect(pool.query(sql, ['t'])).rejects.toThrow(/timestamp that cannot be parsed/);
        const statements = new PipelinedStatements(pool);
        const read = (text: string) => statements.read(text, ['t'], (columns) => columns);
        const results = await Promise.allSettled([read(sql), read('SELECT 1 WHERE $1')]);
        expect(results).toMatchObject([{ status: 'rejected' }, { value: [[1]] }]);
      });
    },
  );
});

test.each([
  ['LATIN1', ['db migrate', 'db status', 'keys list']],
  ['SQL_ASCII', ['keys list']],
  ['WIN1252', ['keys list']],
])('a database in %s › every command exits with 1 and one line: %j', async (encoding, commands) => {
  const template = `template0 ENCODING '${encoding}' LOCALE_PROVIDER libc LOCALE 'C'`;
  await withDatabase(
    async ({ url }) => {
      const cli = new Cli({ DATABASE_URL: url });
      for (const command of commands) {
        expect(await cli.failure(1, ...command.split(' '))).toBe(
          `The database cannot be used: server_encoding must be UTF8, but is ${encoding}`,
        );
      }
    },
    { template },
  );
});
