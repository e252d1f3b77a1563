// Imports, updates and exports of many rows, or of several processes.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { useDatabase } from '../../../harness/database/database.js';
import { holdTable } from '../../../harness/database/database-lock.js';
import { Cli, PROGRAM, resultOf } from '../../../harness/processes/command.js';
import { NODE } from '../../../harness/processes/node.js';
import { until } from '../../../harness/run/until.js';
import { inheritedEnvironment } from '../../../harness/service/service.js';

const folder = mkdtempSync(join(tmpdir(), 'items-'));
const database = useDatabase();
const cli = Cli.on(database);

function file(content: string, name = 'items.csv'): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}
const stored = () => database.query('SELECT name, category_id, status FROM test_items ORDER BY id');
/** Runs a shell command with `$CLI` in processes of their own, and returns its output. */
async function shell(command: string): Promise<{ code: number; output: string }> {
  const env = { CLI: `${NODE.join(' ')} ${PROGRAM}`, DATABASE_URL: database.url };
  const child = spawn('bash', ['-o', 'pipefail', '-c', command], {
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { ...inheritedEnvironment(), ...env },
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  const [code] = (await once(child, 'close')) as [number];
  return { code, output };
}
beforeEach(() => database.empty('test_items', 'operator_actions'));
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

test('of two imports of the same items at the same time, one adds them', async () => {
  const same = file('name,categoryId,status\nFrank,1,\nBo,2,sold\n');
  const other = file('name,categoryId,status\nAnn,1,\n', 'other.csv');
  const env = { DATABASE_URL: database.url, DATABASE_LOCK_TIMEOUT_SECONDS: '60' };
  const lock = await holdTable(database, 'test_items', 'SHARE');
  const first = resultOf(new Cli(env, {}, PROGRAM).start('items', 'import', same));
  try {
    await lock.waitedFor();
    expect(await cli.failure(1, 'items', 'import', same)).toBe(
      'Nothing was added. Another command imports the same items at the moment.',
    );
    expect(await cli.json('items', 'import', other, '--dry-run')).toMatchObject({ valid: 1 });
  } finally {
    await lock.release();
  }
  expect(await first).toMatchObject({ code: 0 });
  expect((await stored()).map(({ name }) => name)).toEqual(['Frank', 'Bo']);
});

test.each(['\r', '\r\n'])('CSV of more than 1 MiB with the line end %j is read', async (end) => {
  const row = `"${'x\r\ny'.repeat(25)}";1`;
  const lines = ['sep=;', 'name;categoryId', ...Array.from({ length: 11_000 }, () => row)];
  const path = file(lines.join(end));
  expect(await cli.json('items', 'import', path, '--dry-run')).toMatchObject({ valid: 11_000 });
  writeFileSync(path, [...lines, 'z;1;more', ''].join(end));
  const { stderr } = await cli.run('items', 'import', path);
  expect(stderr).toContain(`1 of 11001\nline ${3 + 11_000 * 26}: has 3 cells`);
  writeFileSync(path, Buffer.from([...lines, 'é;1', ''].join(end), 'latin1'));
  const line = await cli.failure(1, 'items', 'import', path);
  expect(line).toContain(`Line ${3 + 11_000 * 26} is not text in UTF-8`);
});
