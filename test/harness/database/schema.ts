import { text } from 'node:stream/consumers';
import type { Differences } from '../../../scripts/generate-migration.mjs';
import { connectToHost } from '../service/hosted-application.js';
import { type Environment, inheritedEnvironment } from '../service/service.js';
import type { TestDatabase } from './database.js';

/**
 * Runs the code of src/ on a database (programs/schema.ts). Calls at the same time do not wait for one another.
 *
 * @param env settings in addition to DATABASE_URL, and ENTITIES, a folder with entities in addition to those of src/
 * @throws Error with that of the command
 */
export async function runOnSchema<Result>(
  command: 'differences' | 'migrate',
  { url }: TestDatabase,
  env: Environment = {},
): Promise<Result> {
  const host = connectToHost();
  const start = { schema: command, env: { ...inheritedEnvironment(), ...env, DATABASE_URL: url } };
  host.write(`${JSON.stringify(start)}\n`);
  const { result, failure } = JSON.parse(await text(host)) as { result: Result; failure?: string };
  if (failure !== undefined) throw new Error(failure);
  return result;
}

/** Everything there is in the schema, but the table in which TypeORM keeps its migrations. */
const CATALOGUE = `
  SELECT 'column' AS kind, format('%s.%s', attrelid::regclass, attname) AS name,
         format('%s not null: %s default: %s identity: %s collation: %s', format_type(atttypid, atttypmod),
           attnotnull, pg_get_expr(adbin, adrelid), attidentity, attcollation::regcollation) AS definition
    FROM pg_attribute
    JOIN pg_class ON pg_class.oid = attrelid AND relkind = 'r' AND relnamespace = 'public'::regnamespace
    LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
   WHERE attnum > 0 AND NOT attisdropped AND relname <> 'migrations'
  UNION ALL
  SELECT 'constraint', format('%s.%s', conrelid::regclass, conname), pg_get_constraintdef(oid)
    FROM pg_constraint
   WHERE connamespace = 'public'::regnamespace AND contype <> 'n' AND conrelid <> 'migrations'::regclass
  UNION ALL
  SELECT 'index', indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' AND tablename <> 'migrations'
  ORDER BY kind, name`;

interface CatalogueEntry {
  kind: 'column' | 'constraint' | 'index';
  name: string;
  definition: string;
}

/** Returns each definition by kind and name. */
export async function catalogue(database: TestDatabase): Promise<Record<string, string>> {
  const entries = await database.query<CatalogueEntry & Record<string, string>>(CATALOGUE);
  return Object.fromEntries(
    entries.map(({ kind, name, definition }) => [`${kind} ${name}`, definition]),
  );
}

/**
 * Expects a database to have, by its migrations, the schema that the entities of src/ declare.
 *
 * @param env as for runOnSchema
 */
export async function expectDeclaredSchema(
  database: TestDatabase,
  env: Environment = {},
): Promise<void> {
  const { statements, problems } = await runOnSchema<Differences>('differences', database, env);
  // A column whose property has left the entity stays for a release.
  expect({ statements, problems }).toEqual({ statements: [], problems: [] });
}

/** As expectDeclaredSchema, with the entities of an example in addition to those of src/. */
export const expectExampleSchema = (database: TestDatabase, folder: string): Promise<void> =>
  expectDeclaredSchema(database, { ENTITIES: folder });
