import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { featureFile } from '../http/store.js';
import { Cli } from '../processes/command.js';
import { type TestDatabase, useDatabase } from './database.js';

/** The table of features/toys.ts. */
export const TOYS_TABLE = `
  CREATE TABLE test_toys (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, the_name text NOT NULL,
    "minAge" int NOT NULL DEFAULT 3, maker_id bigint, is_new boolean NOT NULL DEFAULT true, color text,
    updated_at timestamptz NOT NULL DEFAULT now(), version int NOT NULL)`;

interface Toys {
  readonly database: TestDatabase;
  readonly folder: string;
  /** Runs the commands `toys …`. */
  readonly cli: Cli;
  /** Writes a file. Returns its path. */
  readonly file: (text: string, format?: string) => string;
}

/** Creates a database with toys before the tests of a file, and a folder for files. Each test begins without toys. */
export function useToys(): Toys {
  const database = useDatabase();
  const folder = mkdtempSync(join(tmpdir(), 'toys-'));
  const env = {
    get DATABASE_URL() {
      return database.url;
    },
  };
  beforeAll(() => database.query(TOYS_TABLE));
  beforeEach(() => database.empty('test_toys', 'operator_actions'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const file = (text: string, format = 'csv') => {
    const path = join(folder, `toys.${format}`);
    writeFileSync(path, text);
    return path;
  };
  return { database, folder, cli: new Cli(env, { features: [featureFile('toys')] }), file };
}
