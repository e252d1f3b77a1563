import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

const ROOT = join(__dirname, '../../..');
const MANAGER = "import type { EntityManager } from 'typeorm';";
const RAW = `${MANAGER}
export const rows = (manager: EntityManager): Promise<unknown> => manager.query('SELECT 1');
`;
const TYPED = `${MANAGER}
import { queryRows } from '../database/sql.js';
export const rows = (manager: EntityManager): Promise<unknown> => queryRows(manager, 'SELECT 1');
`;
const OTHER_QUERY = `import type { LookupPool } from '../database/pools/lookup-pool.js';
export const rows = (pool: LookupPool): Promise<unknown> => pool.query('SELECT 1');
`;
const RAW_QUERY_ERROR =
  'database/typed-sql: Use queryRows() or changeRows() of src/platform/database/sql.ts: query() returns [rows, count] for UPDATE and DELETE.';

/** The type checker knows only the files of the project, so each text stands in for one of them. */
const CASES = [
  ["TypeORM's query() in a feature", 'src/pets/pets.repository.ts', RAW, [RAW_QUERY_ERROR]],
  ["TypeORM's query() in an example", 'examples/orders/orders.service.ts', RAW, [RAW_QUERY_ERROR]],
  ["TypeORM's query() in src/platform/database/", 'src/platform/database/transactions.ts', RAW, []],
  ['queryRows() in a feature', 'src/platform/events/events.repository.ts', TYPED, []],
  ['query() of another class', 'src/platform/health/readiness.ts', OTHER_QUERY, []],
] as const;

/** Lints all texts in one process: most of the time is for the type checker to start. */
const LINT = `
  import { ESLint } from 'eslint';
  const eslint = new ESLint();
  const results = {};
  for (const [, filePath, code] of JSON.parse(process.argv[1])) {
    const [{ messages }] = await eslint.lintText(code, { filePath });
    results[filePath] = messages.map(({ ruleId, message }) => ruleId + ': ' + message);
  }
  console.log(JSON.stringify(results));`;

let messages: Record<string, string[]>;

beforeAll(async () => {
  const args = ['--input-type=module', '--eval', LINT, JSON.stringify(CASES)];
  // In a single run, which is the default in CI, the type checker reads the files instead of the texts.
  const env = { ...process.env, TSESTREE_SINGLE_RUN: 'false' };
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: ROOT, env });
  messages = JSON.parse(stdout) as Record<string, string[]>;
}, 180_000);

test.each(CASES)('npm run lint › %s, as %s', (_what, file, _code, expected) => {
  expect(messages[file]).toEqual(expected);
});
