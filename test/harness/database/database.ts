import { randomBytes } from 'node:crypto';
import { Client, type QueryResultRow } from 'pg';

/** The environment variable with the server's URL, set by the setup of the test run. */
const SERVER_URL = 'TEST_SERVER_URL';
const TEMPLATE = 'pets_template';

/** A database of one test file, with the service's schema. */
export interface TestDatabase {
  readonly name: string;
  readonly url: string;
  query<Row extends QueryResultRow>(sql: string, values?: unknown[]): Promise<Row[]>;
  /** Drops the database. */
  close(): Promise<void>;
}

/** Returns the address of a database on the test run's server. */
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

/** Runs a statement on the server's maintenance database. */
async function administer(sql: string): Promise<void> {
  const client = new Client({ connectionString: databaseUrl('postgres') });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
