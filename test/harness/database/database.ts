import type { QueryResultRow } from 'pg';
import { databaseUrl, deletionOf, returnDatabase, takeDatabase } from './database-pool.js';

const TEMPLATE = 'test_template';
/** A database with the tables of the migrations only. */
export const SCHEMA = { template: 'schema_template' };

/** A database of one test file. */
export interface TestDatabase {
  readonly name: string;
  readonly url: string;
  query<Row extends QueryResultRow>(sql: string, values?: unknown[]): Promise<Row[]>;
  /** Deletes all rows of tables, which count their ids from 1 again. */
  empty(...tables: string[]): Promise<void>;
  close(): Promise<void>;
}

/** `TestDatabase.empty`. TRUNCATE takes ten times as long, and leaves a database that no other file can use. */
export async function empty(query: TestDatabase['query'], tables: string[]): Promise<void> {
  await query(
    `${deletionOf(tables)} setval(objid::regclass, 1, false) FROM pg_depend JOIN pg_sequence ON seqrelid = objid
      WHERE refobjid = ANY ($1::regclass[])`,
    [tables],
  );
}

/** Returns a database with the up-to-date, empty schema. Its `close()` gives it to another test file. */
export async function createDatabase({ template = TEMPLATE } = {}): Promise<TestDatabase> {
  const pooled = await takeDatabase(template);
  const { name, client } = pooled;
  // The client has one statement at a time.
  let previous: Promise<unknown> = Promise.resolve();
  const query = async <Row extends QueryResultRow>(sql: string, values?: unknown[]) => {
    const result = previous.then(() => client.query<Row>(sql, values));
    previous = result.catch(() => undefined);
    return (await result).rows;
  };
  return {
    name,
    url: databaseUrl(name),
    query,
    empty: (...tables) => empty(query, tables),
    close: () => returnDatabase(pooled),
  };
}

/** Gives a database to a test for its work, by default one with the up-to-date schema. */
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
 * that still run, and gives it to another file. Its properties can be used in tests and hooks.
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
