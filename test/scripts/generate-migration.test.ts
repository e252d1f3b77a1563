import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Check, Column, DataSource, Entity, ForeignKey, Index, Unique } from 'typeorm';
import {
  type Differences,
  findDifferences,
  SchemaNames,
} from '../../scripts/generate-migration.mjs';
import { useDatabase } from '../harness/database/database.js';
import { Cli } from '../harness/processes/command.js';

const database = useDatabase({ template: 'template0' });

beforeEach(() =>
  database.query(`
    DROP SCHEMA public CASCADE;
    CREATE SCHEMA public;
    CREATE TYPE test_toys_size_enum AS ENUM ('small', 'large');
    CREATE TABLE test_toys (
      id   bigint NOT NULL CONSTRAINT test_toys_pkey PRIMARY KEY,
      code varchar(10),
      size test_toys_size_enum
    )`),
);

const COLUMNS: Record<string, object> = {
  id: { type: 'bigint', primary: true },
  code: { length: 10, nullable: true },
  size: { type: 'enum', enum: ['small', 'large'], nullable: true },
};

/** An entity with the columns of the table, except those that differ. An undefined one is missing. */
function toyWith(differing: Record<string, object | undefined>, ...parts: ClassDecorator[]) {
  class Toy {
    id!: bigint;
  }
  Entity('test_toys')(Toy);
  for (const [name, options] of Object.entries({ ...COLUMNS, ...differing }))
    if (options) Column({ type: 'varchar', ...options })(Toy.prototype, name);
  for (const part of parts) part(Toy);
  return Toy;
}

async function compare(...entities: (new () => object)[]): Promise<Differences> {
  const { url } = database;
  const namingStrategy = new SchemaNames();
  const dataSource = new DataSource({ type: 'postgres', url, entities, namingStrategy });
  await dataSource.initialize();
  try {
    return await findDifferences(dataSource);
  } finally {
    await dataSource.destroy();
  }
}

test('an entity that is as its table has no difference', async () => {
  const differences = { statements: [], notes: [], problems: [] };
  expect(await compare(toyWith({}))).toEqual(differences);
});

test('what is new is written, with names in the form of the project, and then nothing', async () => {
  const toy = toyWith(
    {
      name: { type: 'text', nullable: true },
      order: { type: 'integer', default: 0 },
      parent_id: { type: 'bigint', nullable: true },
      size: { type: 'enum', enum: ['small', 'large', 'huge'], nullable: true },
    },
    Unique(['name', 'order']),
    Index(['name']),
    Check('test_toys_name_check', "name <> ''"),
  );
  ForeignKey('test_toys', 'id')(toy.prototype, 'parent_id');
  class Box {
    id!: bigint;
  }
  Entity('boxes')(Box);
  Column({ type: 'bigint', primary: true })(Box.prototype, 'id');
  Column({ type: 'text' })(Box.prototype, 'label');
  const { statements, ...others } = await compare(toy, Box);
  expect(others).toEqual({ notes: [], problems: [] });
  const sql = statements.join('\n');
  for (const part of [
    'CREATE TABLE "boxes" ("id" bigint NOT NULL, "label" text NOT NULL, CONSTRAINT "boxes_pkey"',
    'ALTER TABLE "test_toys" ADD "name" text',
    `ALTER TABLE "test_toys" ADD "order" integer NOT NULL DEFAULT`,
    'ADD CONSTRAINT "test_toys_name_order_key" UNIQUE ("name", "order")',
    'CREATE INDEX "test_toys_name_idx"',
    'ADD CONSTRAINT "test_toys_parent_id_fkey" FOREIGN KEY ("parent_id")',
    `"test_toys_name_check" CHECK (name <> '')`,
    `ADD VALUE 'huge'`,
  ])
    expect(sql).toContain(part);
  for (const statement of statements) await database.query(statement);
  expect((await compare(toy, Box)).statements).toEqual([]);
});

test('what no entity declares stays and is reported; a required column becomes nullable', async () => {
  await database.query(`
    CREATE TABLE others ();
    ALTER TABLE test_toys ADD old text NOT NULL CONSTRAINT test_toys_old_check CHECK (old <> '');
    CREATE INDEX test_toys_old_idx ON test_toys (old)`);
  expect(await compare(toyWith({ code: undefined }))).toEqual({
    statements: ['ALTER TABLE "test_toys" ALTER COLUMN "old" DROP NOT NULL'],
    notes: expect.arrayContaining([
      expect.stringMatching(/^test_toys\.old is in no entity\. It stays: to drop it deletes/),
      expect.stringMatching(/^test_toys\.code is in no entity\. It stays/),
      '"test_toys_old_check" is in no entity. It stays.',
      '"test_toys_old_idx" is in no entity. It stays.',
    ]),
    problems: [],
  });
});

test.each<[title: string, columns: Record<string, object>, RegExp]>([
  ['a new column that must have a value', { name: { type: 'text' } }, /^test_toys\.name is new/],
  ['another type', { code: { type: 'integer', nullable: true } }, /^test_toys\.code changes its/],
  ['a shorter text', { code: { length: 9, nullable: true } }, /^test_toys\.code changes its type/],
  [
    'fewer values of an enum',
    { size: { type: 'enum', enum: ['large'], nullable: true } },
    /test_toys_size_enum/,
  ],
  ['another primary key', { code: { length: 10, primary: true } }, /"test_toys_pkey" changes/],
])('%s needs a migration that somebody writes', async (_title, columns, line) => {
  const { problems } = await compare(toyWith(columns));
  expect(problems.join('\n')).toMatch(line);
});

describe('db generate', () => {
  const cli = Cli.on(database);

  test.each(['add-colour', 'src/toys/add-colour', 'src/toys/migrations/AddColour.ts'])(
    'exits with 2 for the path %s',
    async (path) => {
      expect(await cli.failure(2, 'db', 'generate', path)).toContain(
        'src/toys/migrations/add-colour',
      );
    },
  );

  test('exits with 1 if migrations are pending, and writes nothing', async () => {
    const path = 'src/none/migrations/add-colour';
    expect(await cli.failure(1, 'db', 'generate', path)).toMatch(/not up to date\. .*db migrate/);
    expect(existsSync(join(__dirname, '../../src/none'))).toBe(false);
  });
});
