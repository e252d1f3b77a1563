import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { useDatabase } from '../harness/database/database.js';
import { Cli, TEAM_PROGRAM } from '../harness/processes/command.js';
import { runInTerminal } from '../harness/processes/terminal.js';
import { addPets, createPets } from './animal.js';

const database = useDatabase();
const folder = mkdtempSync(join(tmpdir(), 'animals-'));
afterAll(() => rmSync(folder, { recursive: true }));
beforeEach(() => database.query('TRUNCATE pets, operator_actions RESTART IDENTITY CASCADE'));

/** Runs a command on a terminal. While it asks, something else happens. Then the operator confirms it. */
function animals(args: readonly string[], meanwhile: () => Promise<unknown>) {
  const cli = new Cli({ DATABASE_URL: database.url }, { app: true }, TEAM_PROGRAM);
  return runInTerminal(cli, ['animals', ...args], async () => {
    await meanwhile();
    return `${database.name}\r`;
  });
}

const stored = async () =>
  (await database.query<{ id: string }>('SELECT id FROM pets ORDER BY id')).map(({ id }) => id);
const remove = (id: number) => database.query(`DELETE FROM pets WHERE id = ${id}`);
const sell = (id: number) => database.query(`UPDATE pets SET status = 'sold' WHERE id = ${id}`);
const addSold = () => addPets(database, [{ status: 'sold' }]);

test.each<[args: string, change: string, meanwhile: () => Promise<unknown>, left: string[]]>([
  ['1 2', 'one is removed', () => remove(2), ['1', '3']],
  ['--from 1 --to 9', 'one is removed', () => remove(2), ['1', '3']],
  ['--status available', 'one is sold', () => sell(2), ['1', '2', '3']],
  [
    '--from 1 --to 9',
    'one is removed, and another one is added',
    () => Promise.all([remove(2), addSold()]),
    ['1', '3', '4'],
  ],
])('remove %s removes nothing if, while it asks, %s', async (args, _change, meanwhile, left) => {
  await createPets(database, 3);
  const { code, screen, stdout } = await animals(['remove', ...args.split(' ')], meanwhile);
  expect([code, stdout, await stored()]).toEqual([1, '', left]);
  expect(screen).toContain('Nothing was removed. Try again.');
  expect(await database.query('SELECT FROM operator_actions')).toEqual([]);
});

test.each(['--from 1 --to 9', '--status sold'])(
  'remove %s leaves an animal that is added while it asks',
  async (args) => {
    await createPets(database, 3, () => 'sold');
    const { code } = await animals(['remove', ...args.split(' ')], addSold);
    expect([code, await stored()]).toEqual([0, ['4']]);
    expect(await database.query('SELECT action FROM operator_actions')).toEqual([
      { action: 'animals remove' },
    ]);
  },
);

test.each([
  ['changes 21 animals', () => Promise.resolve(), 0, 21],
  ['changes nothing if one has been changed while it asks', () => sell(7), 1, 0],
] as const)('update %s', async (_title, meanwhile, code, changed) => {
  await createPets(database, 21, () => 'available');
  const cli = new Cli({ DATABASE_URL: database.url }, { app: true });
  const { stdout } = await cli.run('animals', 'export', '--ids');
  const path = join(folder, 'animals.csv');
  writeFileSync(path, stdout.replaceAll('available', 'pending'));
  const result = await animals(['update', path], meanwhile);
  expect(result.screen).toMatch(
    /This changes 21 animals in [^]+\n20 {2}status +available {2}pending\nType/,
  );
  const pending = await database.query("SELECT FROM pets WHERE status = 'pending'");
  expect([result.code, pending.length]).toEqual([code, changed]);
  if (code === 1) expect(result.screen).toContain('id 7: status is "sold", in the file "pending"');
});
