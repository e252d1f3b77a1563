import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { createOwner } from '../../harness/database/factories.js';
import { Relay } from '../../harness/database/relay.js';
import { resultOf } from '../../harness/processes/command.js';
import { startService, type TestService } from '../../harness/service/service.js';

const IMPORT = join(__dirname, '../../../examples/import-shelter/import.mjs');
const MAPPING = ['--name', 'name', '--category', 'type', '--category-map', 'Dog=1'];

let service: TestService;
let relay: Relay;
let folder: string;
let file: string;
let state: string;
let env: NodeJS.ProcessEnv;

beforeAll(async () => {
  service = await startService();
  relay = await Relay.open(service.url);
});
afterAll(async () => {
  await relay.cut();
  await service.close();
});
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'import-shelter-'));
  file = join(folder, 'animals.csv');
  state = `${file}.import.jsonl`;
  await service.database.query('TRUNCATE pets');
  env = { API_KEY: (await createOwner(service.database)).key };
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Starts an import of the file through the relay. */
function start(...args: string[]): ChildProcessByStdio<null, Readable, Readable> {
  return spawn(process.execPath, [IMPORT, file, '--url', relay.url, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    cwd: folder,
    env,
  });
}

const run = (...args: string[]) => resultOf(start(...args));

const writeAnimals = (names: string[]): void =>
  writeFileSync(file, ['name,type', ...names.map((name) => `${name},Dog`)].join('\r\n'));

const numbered = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => `Animal ${index + 1}`);

async function storedNames(): Promise<string[]> {
  const sql = 'SELECT name FROM pets ORDER BY id';
  return (await service.database.query<{ name: string }>(sql)).map(({ name }) => name);
}

const countRequests = (): number => service.logs().filter((line) => line['status']).length;

async function untilPrinted(child: { stderr: Readable }, text: string): Promise<void> {
  let printed = '';
  while (!printed.includes(text)) printed += String((await once(child.stderr, 'data'))[0]);
}

test('adds every row as mapped', async () => {
  const rows = '"Rex; ""der"" Hund";"Hund, klein";frei\r\n\r\n"Zoë\r\nZ";7;sold\r\n ;Emu;';
  writeFileSync(file, `Rufname;Art;Stand\r\n${rows}`, 'latin1');
  const result = await run(
    ...['--delimiter', ';', '--encoding', 'windows-1252', '--name', 'Rufname', '--category', 'Art'],
    ...['--category-map', 'Hund, klein=9223372036854775807', '*=5', '--name-default', 'No name'],
    ...['--status', 'Stand', '--status-map', 'frei=available', '=pending'],
  );
  expect(result).toMatchObject({ code: 0, stdout: '3 added, 0 rejected, 0 remaining\n' });
  const sql = 'SELECT name, category_id::text AS category, status FROM pets ORDER BY id';
  expect(await service.database.query(sql)).toEqual([
    { name: 'Rex; "der" Hund', category: '9223372036854775807', status: 'available' },
    { name: 'Zoë\nZ', category: '7', status: 'sold' },
    { name: 'No name', category: '5', status: 'pending' },
  ]);
});

test('sends nothing in a second run, and adds nothing without the state file', async () => {
  writeAnimals(['Ann', 'Bo']);
  await run(...MAPPING);
  const requests = countRequests();
  expect(await run(...MAPPING)).toMatchObject({ code: 0 });
  expect(countRequests()).toBe(requests);
  rmSync(state);
  expect(await run(...MAPPING)).toMatchObject({ code: 0 });
  expect(countRequests()).toBe(requests + 2);
  expect(await storedNames()).toEqual(['Ann', 'Bo']);
});

test('adds every animal once after a kill before the response, which truncated the state file', async () => {
  writeAnimals(numbered(40));
  const child = start(...MAPPING);
  while ((await storedNames()).length < 3) await sleep(1);
  relay.hold();
  const recorded = (): number => readFileSync(state, 'utf8').split('\n').length - 1;
  while ((await storedNames()).length <= recorded()) await sleep(1);
  child.kill('SIGKILL');
  await once(child, 'close');
  await relay.restore();
  writeFileSync(state, readFileSync(state).subarray(0, -3));
  const requests = countRequests();
  expect(await run(...MAPPING)).toMatchObject({ code: 0 });
  expect(countRequests()).toBeLessThan(requests + 40);
  expect(await storedNames()).toEqual(numbered(40));
});

test('stops on SIGINT, and waits for Retry-After after a 429', async () => {
  writeAnimals(numbered(4));
  const limits = { perMinute: 3, perDay: 9 };
  env = { API_KEY: (await createOwner(service.database, { limits })).key };
  const first = start(...MAPPING);
  const interrupted = resultOf(first);
  await untilPrinted(first, 'The service responded with 429. Waiting until ');
  first.kill('SIGINT');
  const summary = '3 added, 0 rejected, 1 remaining\nRun the same command again to continue.\n';
  expect(await interrupted).toMatchObject({ code: 130, stdout: summary });

  await service.advance(58_000);
  const requests = countRequests();
  const second = start(...MAPPING);
  const completed = resultOf(second);
  await untilPrinted(second, 'Waiting until ');
  const rejectedAtMs = performance.now();
  await service.advance(2_000);
  expect(await completed).toMatchObject({ code: 0 });
  expect(performance.now() - rejectedAtMs).toBeGreaterThan(1_900);
  expect(countRequests()).toBe(requests + 2);
});

test('lists rows without a mapping by line and sends nothing, unless they are skipped', async () => {
  writeFileSync(file, 'name,type\n"Ann\nA",Dog\n,Dog\nBo,Fish\nCy,Dog\n');
  const { code, stderr } = await run(...MAPPING);
  expect(code).toBe(1);
  expect(stderr).toBe(
    'line 4: the name is blank\nline 5: the category "Fish" has no mapping\n' +
      'error: 2 of 4 rows cannot be mapped. Nothing was sent. See --skip-unmapped.\n',
  );
  expect(await storedNames()).toEqual([]);
  expect(await run(...MAPPING, '--skip-unmapped')).toMatchObject({ code: 0 });
  expect(await storedNames()).toEqual(['Ann\nA', 'Cy']);
});

test('reports the line of a row that is not CSV and sends nothing', async () => {
  writeFileSync(file, 'name,type\nAnn,Dog\nBo,"Dog\nCy,Dog\n');
  const { code, stderr } = await run(...MAPPING);
  expect(code).toBe(1);
  expect(stderr).toMatch(/^error: The row after line 2 of .* is invalid. Quote Not Closed/);
  expect(await storedNames()).toEqual([]);
});

test('reads a file that is larger than its memory, and sends nothing in a dry run', async () => {
  writeFileSync(file, `name,type,notes\n${`Ann,Dog,${'x'.repeat(50_000)}\n`.repeat(1_200)}`);
  env = { NODE_OPTIONS: '--max-old-space-size=32' };
  const { code, stdout } = await run(...MAPPING, '--dry-run');
  expect(stdout).toMatch(/^line 2: {"name":"Ann","categoryId":1}\n/);
  expect(stdout).toContain('\n1200 rows can be imported. Nothing was sent.\n');
  expect(code).toBe(0);
  expect(existsSync(state)).toBe(false);
});

test('reports the line of a row that the service rejects, and continues', async () => {
  writeAnimals(['Ann', 'x'.repeat(256), 'Bo']);
  const { code, stdout, stderr } = await run(...MAPPING, '--limit', '2');
  expect(code).toBe(1);
  expect(stdout).toMatch(/^1 added, 1 rejected, 1 remaining\n/);
  expect(stderr).toMatch(/^line 3: 400 invalid_request: .*name/);
  expect(await run(...MAPPING)).toMatchObject({ code: 1 });
  expect(await storedNames()).toEqual(['Ann', 'Bo']);
});

test('stops at the first 401', async () => {
  writeAnimals(['Ann', 'Bo']);
  env = { API_KEY: 'aas_wrong' };
  const requests = countRequests();
  const { code, stderr } = await run(...MAPPING);
  expect(code).toBe(1);
  expect(stderr).toMatch(/^error: The service responded with 401 invalid_api_key: [^\n]+\n$/);
  expect(countRequests()).toBe(requests + 1);
});

test('rejects the state file of another mapping with 1, and a wrong option with 2', async () => {
  writeAnimals(['Ann']);
  await run(...MAPPING);
  const { code, stderr } = await run(...MAPPING, 'Cat=2');
  expect(code).toBe(1);
  expect(stderr).toContain('belongs to an import of another file, address or mapping');
  expect(await run(...MAPPING, 'Cat=two')).toMatchObject({ code: 2 });
});
