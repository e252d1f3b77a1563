import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import type { ClientConfig } from 'pg';
import pg from 'pg';
import {
  BoundedPool,
  ConnectionFailedError,
} from '../../src/platform/database/pools/bounded-pool.js';
import { isUnavailable } from '../../src/platform/database/database-errors.js';
import { PgClient } from '../../src/platform/database/pipelining/pg-client.js';
import { columnTypes } from '../../src/platform/database/pipelining/statement-batch.js';
import { useDatabase } from '../harness/database/database.js';

const database = useDatabase();

async function connected<Result>(
  Client: typeof PgClient,
  work: (client: PgClient) => Promise<Result>,
): Promise<Result> {
  const client = new Client({ connectionString: database.url, types: columnTypes });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

const STATEMENT = 'SELECT $1::bigint AS value';

/**
 * Returns the names by which the connection's statements are prepared, after one was used twice.
 */
const preparedNames = (Client: typeof PgClient): Promise<string[]> =>
  connected(Client, async (client) => {
    await client.query(STATEMENT, [1]);
    await client.query(STATEMENT, [2]);
    const { rows } = await client.query<{ name: string }>(
      `SELECT name FROM pg_prepared_statements WHERE statement LIKE '%AS value'`,
    );
    return rows.map(({ name }) => name);
  });

describe('a connection', () => {
  it('prepares a statement with parameters once', async () => {
    expect(await preparedNames(PgClient)).toHaveLength(1);
  });

  it('gives a statement the same name in every process, whatever it prepared before', async () => {
    const here = await preparedNames(PgClient);
    jest.resetModules();
    const elsewhere = await import('../../src/platform/database/pipelining/pg-client.js');
    await connected(elsewhere.PgClient, (client) => client.query('SELECT $1::text', ['x']));

    expect(await preparedNames(elsewhere.PgClient)).toEqual(here);
  });

  it('is abandoned when the first statement that a pool sends on it gets no response in time', async () => {
    const config = { connectionString: database.url, responseTimeoutMs: 100 };
    const pool = new pg.Pool({ ...config, ...({ Client: PgClient } as object) });
    pool.on('error', () => undefined);
    try {
      await expect(pool.query('SELECT pg_sleep(20)')).rejects.toThrow('Connection terminated');
    } finally {
      await pool.end();
    }
  });

  it('prepares nothing through a connection pooler', async () => {
    await connected(PgClient, async (client) => {
      // A pooler reports a process number of its own.
      Object.assign(client, { processID: 1 });
      await client.startSession({ lock_timeout: 1234 });
      await client.query(STATEMENT, [1]);
      expect((await client.query('SELECT FROM pg_prepared_statements')).rows).toEqual([]);
      expect((await client.query('SHOW lock_timeout')).rows).toEqual([{ lock_timeout: '0' }]);
    });
  });

  it('has the settings of its session', async () => {
    await connected(PgClient, async (client) => {
      await client.startSession({ lock_timeout: 1234, enable_seqscan: 'off' });
      expect((await client.query('SHOW lock_timeout')).rows).toEqual([{ lock_timeout: '1234ms' }]);
      expect((await client.query('SHOW enable_seqscan')).rows).toEqual([{ enable_seqscan: 'off' }]);
      await client.query(STATEMENT, [1]);
      expect((await client.query('SELECT FROM pg_prepared_statements')).rows).toHaveLength(1);
    });
  });

  it.each([
    ['9223372036854775807', 'bigint', 9223372036854775807n],
    ['-1', 'bigint', -1n],
    ['7', 'integer', 7],
    ['1.5', 'float8', 1.5],
    ['x', 'text', 'x'],
    ['t', 'boolean', true],
  ])('reads %s of type %s', async (text, type, value) => {
    const { rows } = await connected(PgClient, (client) =>
      client.query<{ value: unknown }>(`SELECT $1::text::${type} AS value`, [text]),
    );

    expect(rows).toEqual([{ value }]);
  });

  it('reads rows of several columns with nulls', async () => {
    const sql = "SELECT NULL AS none, 'Zoë' AS name, '' AS nothing, $1::bigint AS id";
    const { rows } = await connected(PgClient, (client) => client.query(sql, [7]));

    expect(rows).toEqual([{ none: null, name: 'Zoë', nothing: '', id: 7n }]);
  });

  it('throws the error of the server', async () => {
    const failure = connected(PgClient, (client) => client.query('SELECT 1 / $1::int', [0]));

    await expect(failure).rejects.toMatchObject({ code: '22012' });
  });
});

describe('a connection that cannot be made', () => {
  let foreign: Server;
  let foreignPort: number;
  beforeAll(async () => {
    foreign = createServer((socket) => socket.once('data', () => socket.end('X\0\0\0\x04')));
    await once(foreign.listen(0, '127.0.0.1'), 'listening');
    foreignPort = (foreign.address() as AddressInfo).port;
  });
  afterAll(() => foreign.close());

  const failureOf = async (config: ClientConfig): Promise<unknown> => {
    const pool = new BoundedPool({ ...config, Client: PgClient, maxWaiting: 1 });
    return pool.connect().then(
      () => undefined,
      (error: unknown) => error,
    );
  };
  const elsewhere = (change: (url: URL) => void): string => {
    const url = new URL(database.url);
    change(url);
    return url.href;
  };

  it.each<[string, () => ClientConfig, RegExp]>([
    [
      'the database does not exist',
      () => ({ connectionString: elsewhere((url) => (url.pathname = '/nowhere')) }),
      /database "nowhere" does not exist/,
    ],
    [
      'the server has no TLS',
      () => ({ connectionString: database.url, ssl: true }),
      /does not support SSL/,
    ],
    [
      'a start-up parameter is unknown',
      () => ({ connectionString: database.url, options: '-c nonsense=1' }),
      /unrecognized configuration parameter/,
    ],
    ['nothing listens', () => ({ host: '127.0.0.1', port: 1 }), /ECONNREFUSED/],
    ['another program listens', () => ({ host: '127.0.0.1', port: foreignPort }), /invalid resp/],
    ['the host has no address', () => ({ host: 'nowhere.invalid' }), /nowhere\.invalid/],
  ])('is a ConnectionFailedError with the cause: %s', async (_title, config, message) => {
    const error = await failureOf(config());

    expect(error).toBeInstanceOf(ConnectionFailedError);
    expect((error as Error).message).toMatch(
      /^The database (?:cannot be reached|rejected the connection): /,
    );
    expect((error as Error).cause).toMatchObject({ message: expect.stringMatching(message) });
    expect(isUnavailable(error)).toBe(true);
  });

  it('says whether the server responded', () => {
    const cause = new pg.DatabaseError('sorry, too many clients already', 0, 'error');

    expect(new ConnectionFailedError(cause).message).toBe(
      'The database rejected the connection: sorry, too many clients already',
    );
  });

  it('shows the error of the first address if several were tried', () => {
    const cause = new AggregateError([new Error('first'), new Error('second')]);

    expect(new ConnectionFailedError(cause).message).toBe('The database cannot be reached: first');
  });
});
