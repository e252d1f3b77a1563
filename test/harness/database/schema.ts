import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import type { Differences } from '../../../scripts/generate-migration.mjs';
import { type Environment, inheritedEnvironment } from '../service/service.js';
import type { TestDatabase } from './database.js';

type Command = 'differences' | 'migrate';

/** The built service, in a process of its own. It runs commands on a database. */
export class SchemaProcess {
  private readonly child: ChildProcess;
  private count = 0;

  /**
   * @param env settings of the service in addition to DATABASE_URL, and ENTITIES, a folder with
   *   entities in addition to those of the build
   */
  constructor(env: Environment = {}) {
    this.child = fork(
      join(__dirname, '../../../reports/team/test/harness/programs/schema-process.js'),
      {
        cwd: join(__dirname, '../../..'),
        env: { ...inheritedEnvironment(), ...env },
        // TypeORM prints each migration that fails. Errors come as messages.
        stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      },
    );
  }

  /** Commands that are run at the same time do not wait for one another. @throws Error with that of the command */
  run<Result>(command: Command, { url }: TestDatabase): Promise<Result> {
    const id = ++this.count;
    return new Promise((resolve, reject) => {
      const onReply = (reply: { id: number; value: Result; error?: string }): void => {
        if (reply.id !== id) return;
        this.child.off('message', onReply);
        if (reply.error === undefined) resolve(reply.value);
        else reject(new Error(reply.error));
      };
      this.child.on('message', onReply);
      this.child.send({ id, command, url });
    });
  }

  close(): void {
    // The test run may have stopped the process already.
    if (this.child.connected) this.child.disconnect();
  }
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

/** Expects a database to have, by its migrations, the schema that the entities of the process declare. */
export async function expectDeclaredSchema(
  database: TestDatabase,
  service: SchemaProcess,
): Promise<void> {
  const { statements, problems } = await service.run<Differences>('differences', database);
  // A column whose property has left the entity stays for a release.
  expect({ statements, problems }).toEqual({ statements: [], problems: [] });
}

/** As expectDeclaredSchema, with the entities of an example in addition to those of the build. */
export async function expectExampleSchema(database: TestDatabase, folder: string): Promise<void> {
  const service = new SchemaProcess({ ENTITIES: folder });
  await expectDeclaredSchema(database, service).finally(() => service.close());
}
