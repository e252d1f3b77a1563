// The databases of test files. To create one costs more than most test files, so the next file of the same worker gets it, emptied,
// unless a test has changed more than rows.
import { randomBytes } from 'node:crypto';
import type { Client } from 'pg';

/** A database with the state of its template. */
export interface PooledDatabase {
  readonly name: string;
  /** It stays connected, because PostgreSQL starts a process for each connection. */
  readonly client: Client;
  readonly template: string;
  readonly tables: readonly string[];
  /** Those that have rows in the template. Rows that this transaction or a later one has added are those of tests. */
  readonly filled: readonly string[];
  readonly transaction: string;
  readonly sequences: readonly Sequence[];
  /** What a test may not change (`stateOf`). */
  readonly state: string;
}

interface Sequence {
  name: string;
  /** A string, because it is a bigint. */
  value: string;
  isUsed: boolean;
}

declare global {
  /** What this worker of Jest keeps for its next test files (run/environment.mjs). */
  var freeDatabases: PooledDatabase[];
  /** Returns a client that is connected to the address. The worker of Jest can keep it. */
  var connectClient: (url: string) => Promise<Client>;
}

/** A larger table is truncated. The deleted rows of a smaller one take no time. */
const LARGE_BYTES = 1_000_000;

const TABLES = `SELECT oid::regclass::text AS name, pg_relation_size(oid)::int AS bytes FROM pg_class
  WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace`;

interface Table {
  name: string;
  bytes: number;
}

const SEQUENCES = `SELECT seqrelid::regclass::text AS name, coalesce(last, seqstart) AS value, last IS NOT NULL AS "isUsed"
  FROM pg_sequence, pg_sequence_last_value(seqrelid) AS last`;

/**
 * What the next test file must find unchanged: everything that a test can define in a database, and the statistics of ANALYZE, which
 * would change its query plans.
 */
const DEFINITIONS = {
  pg_attrdef: 'true',
  pg_attribute: 'attrelid >= 16384',
  pg_class: 'oid >= 16384',
  pg_constraint: 'true',
  pg_db_role_setting: 'true',
  pg_event_trigger: 'true',
  pg_extension: 'true',
  // PostgreSQL keeps those of temporary tables.
  pg_namespace: "nspname !~ '^pg_'",
  pg_policy: 'true',
  pg_proc: 'oid >= 16384',
  pg_statistic: 'starelid >= 16384',
  pg_trigger: 'true',
  pg_type: 'oid >= 16384',
};

/** Returns a database with the state of a template. */
export async function takeDatabase(template: string): Promise<PooledDatabase> {
  const index = freeDatabases.findLastIndex((free) => free.template === template);
  const [free] = index < 0 ? [] : freeDatabases.splice(index, 1);
  if (free) {
    free.client.ref();
    return free;
  }
  const name = `test_${randomBytes(6).toString('hex')}`;
  await administer(`CREATE DATABASE ${name} TEMPLATE ${template}`);
  const client = await connect(name);
  const tables = (await client.query<Table>(TABLES)).rows;
  const filled = tables.filter(({ bytes }) => bytes > 0).map(({ name }) => name);
  const sequences = (await client.query<Sequence>(SEQUENCES)).rows;
  const last = await client.query<{ id: string }>('SELECT pg_current_xact_id()::text AS id');
  const state = await stateOf(client, filled);
  const transaction = last.rows[0]!.id;
  const names = tables.map(({ name }) => name);
  return { name, client, template, tables: names, filled, transaction, sequences, state };
}

/** Empties a database for the next test file, or drops it. */
export async function returnDatabase(database: PooledDatabase): Promise<void> {
  const { client } = database;
  const emptied = await empty(database).catch(() => undefined);
  if (emptied) {
    // It does not count as left open.
    client.unref();
    freeDatabases.push(emptied);
  } else {
    await client.end();
    await dropDatabase(database.name);
  }
}

function dropDatabase(name: string): Promise<void> {
  return administer(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
}

/** Returns undefined if a test has changed more than rows of its own. */
async function empty(database: PooledDatabase): Promise<PooledDatabase | undefined> {
  const { client, filled, transaction, sequences } = database;
  // As DROP DATABASE … WITH (FORCE) does.
  await client.query(
    `SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid()`,
  );
  await client.query('ROLLBACK');
  await client.query('DISCARD ALL');
  const { rows: tables } = await client.query<Table>(TABLES);
  const added = tables.filter(({ name }) => !database.tables.includes(name));
  if (added.length > 0) await client.query(`DROP TABLE ${namesOf(added)} CASCADE`);
  for (const name of filled) {
    await client.query(`DELETE FROM ${name} WHERE xmin::text::bigint >= $1`, [transaction]);
  }
  if ((await stateOf(client, filled)) !== database.state) return undefined;
  const used = tables.filter((table) => {
    return table.bytes > 0 && !added.includes(table) && !filled.includes(table.name);
  });
  if (used.some(({ bytes }) => bytes > LARGE_BYTES)) {
    await client.query(`TRUNCATE ${namesOf(used)}`);
  } else if (used.length > 0) {
    await client.query(`${deletionOf(used.map(({ name }) => name))} 1`);
  }
  await client.query(
    `SELECT setval(name, value, "isUsed") FROM json_to_recordset($1) AS s (name text, value bigint, "isUsed" boolean)`,
    [JSON.stringify(sequences)],
  );
  return { ...database, state: await stateOf(client, filled) };
}

function namesOf(tables: readonly Table[]): string {
  return tables.map(({ name }) => name).join();
}

/** Returns the begin of a statement, up to SELECT, that deletes all rows. References are checked at its end. */
export function deletionOf(tables: readonly string[]): string {
  const deletions = tables.map((name, index) => `t${index} AS (DELETE FROM ${name})`);
  return `WITH ${deletions.join()} SELECT`;
}

/**
 * Returns a text that differs when a definition, statistics or a row of the tables were added, changed or removed. The number of a transaction (xmin) is
 * that of the last change of a row.
 */
export async function stateOf(client: Client, tables: readonly string[]): Promise<string> {
  const sources = [
    ...Object.entries(DEFINITIONS),
    ...tables.map((table) => [table, 'true'] as const),
  ];
  const lines = sources.map(
    ([source, condition]) =>
      `SELECT format('${source} %s %s', count(*), max(xmin::text::bigint)) AS line FROM ${source} WHERE ${condition}`,
  );
  const settings = `SELECT format('%s %s %s', datallowconn, datconnlimit, datacl) FROM pg_database
    WHERE datname = current_database()`;
  const union = [...lines, settings].join(' UNION ALL ');
  const { rows } = await client.query<{ state: string }>(
    `SELECT string_agg(line, '; ') AS state FROM (${union}) AS lines`,
  );
  return rows[0]!.state;
}

/** Returns the address of a database of the server that the set-up of the test run has started. */
export function databaseUrl(name: string): string {
  const url = new URL(process.env['TEST_SERVER_URL'] ?? '');
  url.pathname = `/${name}`;
  return url.href;
}

function connect(name: string): Promise<Client> {
  return connectClient(databaseUrl(name));
}

async function administer(sql: string): Promise<void> {
  const client = await connect('postgres');
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
