import { pipeline } from 'node:stream/promises';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import type { DataSource, QueryRunner } from 'typeorm';
import type { PgClient } from '../pipelining/pg-client.js';
import { migrationStatus } from '../schema/migrate.js';
import { queryRows, type StatementRunner } from '../sql.js';

/** A database, and its description for operators. */
type Side = Readonly<{ description: string; dataSource: DataSource }>;

/** The ids of the rows of these tables that are not copied. */
export type Omitted = Readonly<Record<'owners' | 'api_keys', readonly number[]>>;

/** All tables but that of the migrations. A table follows those that its foreign keys refer to. */
const TABLES = `
  WITH RECURSIVE tables AS (
    SELECT oid, 0 AS depth FROM pg_class
     WHERE relkind IN ('r', 'p') AND NOT relispartition AND relname <> 'migrations'
       AND relnamespace::regnamespace::text !~ '^(pg_|information_schema$)'
     UNION
    SELECT conrelid, depth + 1 FROM tables JOIN pg_constraint ON confrelid = tables.oid
     WHERE contype = 'f' AND conparentid = 0 AND conrelid <> confrelid AND depth < 30)
  SELECT tables.oid::regclass::text AS name,
         json_agg(json_build_object('name', quote_ident(attribute.attname), 'isRequired', attnotnull, 'parent', (
           SELECT confrelid::regclass::text FROM pg_constraint
             JOIN pg_attribute AS id ON id.attrelid = confrelid AND id.attname = 'id'
            WHERE contype = 'f' AND conrelid = tables.oid AND conkey = ARRAY[attribute.attnum]
              AND confkey = ARRAY[id.attnum] LIMIT 1))) AS columns
    FROM (SELECT oid, max(depth) AS depth FROM tables GROUP BY oid) AS tables
    JOIN pg_attribute AS attribute ON attrelid = tables.oid
   WHERE attnum > 0 AND NOT attisdropped AND attgenerated = ''
   GROUP BY tables.oid, depth ORDER BY depth, name`;

interface Table {
  readonly name: string;
  readonly columns: { name: string; isRequired: boolean; parent: string | null }[];
}

const SEQUENCES = `
  SELECT oid::regclass::text AS name, pg_sequence_last_value(oid) AS last
    FROM pg_class WHERE relkind = 'S'`;

/**
 * A service that owns an embedded server, also if its pool is empty, and connections of a service's pool:
 * their application_name has no purpose at its end, such as that of this connection.
 */
const SERVICES = `
  SELECT FROM pg_stat_activity WHERE application_name ~ '^service [0-9]+( |$)'
      OR application_name = regexp_replace(current_setting('application_name'), ' [^ ]+$', '')
         AND datname = current_database()`;

/** The audit trail. The target keeps its own records, after those of the source. */
const AUDIT = 'operator_actions';
const OWN_RECORDS = '"#own_records"';
const KEEP_RECORDS = `CREATE TEMP TABLE ${OWN_RECORDS} ON COMMIT DROP AS TABLE ${AUDIT}`;
const ADD_RECORDS = `
  INSERT INTO ${AUDIT} (performed_at, actor, action, details)
  SELECT performed_at, actor, action, details FROM ${OWN_RECORDS} ORDER BY id`;

/**
 * Copies the rows of all tables, as they are at one moment, and the positions of the sequences, in
 * one transaction of the target. Meanwhile, nobody can change the source.
 *
 * @param omit returns what is not copied. A foreign key to it becomes NULL. If it must not be NULL, its row
 *   is not copied either
 * @param record records the copy in the transaction
 * @returns the number of copied rows of each table, and of those of the source that are not copied
 * @throws Error, without an effect, if a service uses one of them, the migrations differ, or the
 *   target has rows that migrations have not added
 */
export async function copyTables(
  source: Side,
  target: Side,
  omit: (source: StatementRunner) => Promise<Omitted>,
  record: (target: StatementRunner, details: object) => Promise<void>,
): Promise<{ rows: Record<string, number>; left: Record<string, number> }> {
  const [executed, expected] = await Promise.all([source, target].map(migrationsOf));
  if (executed !== expected) {
    throw new Error(
      `The migrations of ${source.description} and ${target.description} differ. Run \`db migrate\` of the same release on both.`,
    );
  }
  for (const side of [source, target]) await checkStopped(side, side.dataSource);
  const tables = await queryRows<Table>(source.dataSource, TABLES);
  const names = tables.map(({ name }) => name);
  return source.dataSource.transaction('REPEATABLE READ', async ({ queryRunner }) => {
    const from = queryRunner as QueryRunner;
    // Before the snapshot: whatever a writer confirms is in it. Later writers wait for the end of the copy.
    await from.query(`LOCK TABLE ${names.join()} IN SHARE MODE`);
    await from.query('SET TRANSACTION READ ONLY');
    const omitted = await omit(from);
    const sequences = await queryRows<{ name: string; last: bigint | null }>(from, SEQUENCES);
    return target.dataSource.transaction('READ COMMITTED', async ({ queryRunner }) => {
      const to = queryRunner as QueryRunner;
      await to.query(`LOCK TABLE ${names.join()} IN ACCESS EXCLUSIVE MODE`);
      // One may have started before the lock.
      await checkStopped(target, to);
      for (const name of names) if (name !== AUDIT) await checkEmpty(target, to, name);
      await to.query(KEEP_RECORDS);
      await to.query(`TRUNCATE ${names.join()}`);
      for (const { name, last } of sequences) {
        // A rollback includes setval only if the sequence was restarted before.
        await to.query(`ALTER SEQUENCE ${name} RESTART`);
        if (last !== null) await to.query(`SELECT setval('${name}', ${last})`);
      }
      const rows: Record<string, number> = {};
      const left: Record<string, number> = {};
      for (const table of tables) {
        // The triggers of a feature must not change the rows.
        await to.query(`ALTER TABLE ${table.name} DISABLE TRIGGER USER`);
        const copied = await copyTable(from, to, table, omitted);
        const total = await queryRows<{ count: bigint }>(
          from,
          `SELECT count(*) FROM ${table.name}`,
        );
        rows[table.name] = copied;
        const count = Number(total[0]?.count) - copied;
        if (count > 0) left[table.name] = count;
      }
      await to.query('SET CONSTRAINTS ALL IMMEDIATE');
      for (const name of names) await to.query(`ALTER TABLE ${name} ENABLE TRIGGER USER`);
      await to.query(ADD_RECORDS);
      await record(to, { source: source.description, rows, left, omitted });
      await to.query(`ANALYZE ${names.join()}`);
      return { rows, left };
    });
  });
}

const migrationsOf = async ({ dataSource }: Side): Promise<string> =>
  (await migrationStatus(dataSource)).executed.sort().join();

async function checkStopped({ description }: Side, runner: StatementRunner): Promise<void> {
  const services = await queryRows(runner, SERVICES);
  if (services.length > 0) throw new Error(`A service uses ${description}. Stop it first.`);
}

/** A row that a migration has added has the transaction of the migration's row. */
async function checkEmpty({ description }: Side, to: StatementRunner, name: string): Promise<void> {
  const others = `
    SELECT FROM ${name} WHERE xmin::text NOT IN (SELECT xmin::text FROM migrations) LIMIT 1`;
  if ((await queryRows(to, others)).length === 0) return;
  throw new Error(`${description} is not empty: the table ${name} has rows. Nothing was copied.`);
}

/** Returns the number of copied rows. */
async function copyTable(
  from: QueryRunner,
  to: QueryRunner,
  { name, columns }: Table,
  omitted: Omitted,
): Promise<number> {
  const isCopied = (value: string, ids: readonly number[]) =>
    `(${value} = ANY ('{${ids.join()}}')) IS NOT TRUE`;
  const conditions = ['true'];
  const values = columns.map(({ name: column, isRequired, parent }) => {
    const referred = column === 'id' ? name : (parent ?? '');
    if (!(referred in omitted)) return column;
    const condition = isCopied(column, omitted[referred as keyof Omitted]);
    if (isRequired) conditions.push(condition);
    return `CASE WHEN ${condition} THEN ${column} END`;
  });
  if (name === AUDIT) {
    conditions.push(isCopied("details ->> 'ownerId'", omitted.owners));
    conditions.push(isCopied("details ->> 'keyId'", omitted.api_keys));
  }
  const rows = `SELECT ${values.join()} FROM ${name} WHERE ${conditions.join(' AND ')}`;
  const output = copyTo(`COPY (${rows}) TO STDOUT`);
  const input = copyFrom(`COPY ${name} (${columns.map(({ name }) => name).join()}) FROM STDIN`);
  ((await from.connect()) as PgClient).query(output);
  ((await to.connect()) as PgClient).query(input);
  await pipeline(output, input);
  return input.rowCount;
}
