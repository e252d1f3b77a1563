import { randomBytes } from 'node:crypto';
import { Client, type QueryResultRow } from 'pg';

/** The environment variable with the server's URL, set by the setup of the test run. */
const SERVER_URL = 'TEST_SERVER_URL';
const TEMPLATE = 'test_template';
/** A database with the tables of the migrations only. */
export const SCHEMA = { template: 'schema_template' };

/** A database of one test file, with the service's schema. */
export interface TestDatabase {
  readonly name: string;
  readonly url: string;
  query<Row extends QueryResultRow>(sql: string, values?: unknown[]): Promise<Row[]>;
  close(): Promise<void>;
}

function databaseUrl(name: string): string {
  const url = new URL(process.env[SERVER_URL] ?? '');
  url.pathname = `/${name}`;
  return url.href;
}

/** Creates a database with the up-to-date, empty schema. */
export async function createDatabase({ template = TEMPLATE } = {}): Promise<TestDatabase> {
  const name = `test_${randomBytes(6).toString('hex')}`;
  await administer(`CREATE DATABASE ${name} TEMPLATE ${template}`);
  const url = databaseUrl(name);
  const client = new Client({ connectionString: url });
  // The server ends connections that a failed test has left. That must not hide the failure.
  client.on('error', () => undefined);
  await client.connect();
  // The client has one statement at a time.
  let previous: Promise<unknown> = Promise.resolve();
  return {
    name,
    url,
    query: async <Row extends QueryResultRow>(sql: string, values?: unknown[]) => {
      const result = previous.then(() => client.query<Row>(sql, values));
      previous = result.catch(() => undefined);
      return (await result).rows;
    },
    close: async () => {
      await client.end();
      await administer(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    },
  };
}

/** Gives a database to a test, by default one with the up-to-date schema, and drops it afterwards. */
export async function withDatabase(
  work: (database: TestDatabase) => Promise<void>,
  options = SCHEMA,
): Promise<void> {
  const database = await createDatabase(options);
  try {
    await work(database);
  } finally {
    await database.close();
  }
}

/** What uses a database. It must be closed before the database is dropped. */
const users: (() => Promise<unknown>)[] = [];

/** Closes what a test has started, the last first, before its databases are dropped. */
export function closeBeforeDatabases(close: () => Promise<unknown>): void {
  users.push(close);
}

/**
 * Creates a database before the tests of a file or of a `describe`. After them, closes the services
 * that still run, and drops it. Its properties can be used in tests and hooks.
 */
export function useDatabase(options?: { template?: string }): TestDatabase {
  const database = {} as TestDatabase;
  beforeAll(async () => {
    Object.assign(database, await createDatabase(options));
  });
  afterAll(async () => {
    for (const close of users.splice(0).reverse()) await close();
    await database.close();
  });
  return database;
}

async function administer(sql: string): Promise<void> {
  const client = new Client({ connectionString: databaseUrl('postgres') });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
