// Imports, updates and exports of many rows.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { useDatabase } from '../../../harness/database/database.js';
import { Cli, PROGRAM } from '../../../harness/processes/command.js';
import { until } from '../../../harness/run/until.js';
import { inheritedEnvironment } from '../../../harness/service/service.js';

const folder = mkdtempSync(join(tmpdir(), 'items-'));
const database = useDatabase();
const cli = Cli.on(database);

function file(content: string): string {
  const path = join(folder, 'items.csv');
  writeFileSync(path, content);
  return path;
}
const stored = () => database.query('SELECT name, category_id, status FROM test_items ORDER BY id');
/** Runs a shell command with `$CLI` in processes of their own, and returns its output. */
async function shell(command: string): Promise<{ code: number; output: string }> {
  const env = { CLI: `${process.execPath} ${PROGRAM}`, DATABASE_URL: database.url };
  const child = spawn('bash', ['-o', 'pipefail', '-c', command], {
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { ...inheritedEnvironment(), ...env },
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  const [code] = (await once(child, 'close')) as [number];
  return { code, output };
}
beforeEach(() => database.query('TRUNCATE test_items, operator_actions RESTART IDENTITY CASCADE'));
afterAll(() => rmSync(folder, { recursive: true }));

test('update › changes at most 20,000 items', async () => {
  await database.query(
    `INSERT INTO test_items (name, category_id, status) SELECT 'a', 1, 'sold' FROM generate_series(1, 20001)`,
  );
  const before = await stored();
  const rows = Array.from({ length: 20_001 }, (_, index) => `${index + 1},b`);
  const many = file(['id,name', ...rows].join('\n'));
  for (const options of [['--dry-run'], []])
    expect(await cli.failure(1, 'items', 'update', many, ...options)).toBe(
      'Nothing was changed. The file changes 20001 items, and one command changes at most 20000. Split the file.',
    );
  expect(await stored()).toEqual(before);
  const [first, ...others] = rows;
  const allowed = file(['id,name', first!.replace('b', 'a'), ...others].join('\n'));
  const { json } = await cli.run('items', 'update', allowed, '--yes', '--json');
  expect(json).toMatchObject({ changed: 20_000, same: 1 });
});

test('a reader that stops ends the export quietly', async () => {
  await database.query(
    `INSERT INTO test_items (name, category_id, status) SELECT repeat('x', 200), n, 'sold' FROM generate_series(1, 50000) n`,
  );
  expect(await shell('$CLI items export | head -1')).toEqual({
    code: 0,
    output: `name,categoryId,status\n`,
  });
  expect((await shell('$CLI items export >/dev/full')).code).toBe(1);
  expect(await shell('$CLI items export | true')).toEqual({ code: 0, output: '' });
  const active = `SELECT FROM pg_stat_activity WHERE query LIKE 'COPY%' AND state = 'active'`;
  await until(async () => (await database.query(active)).length === 0);
});
