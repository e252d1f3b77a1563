import { addPets, createPets } from '../harness/database/animals.js';
import { useDatabase } from '../harness/database/database.js';
import { Cli, TEAM_PROGRAM } from '../harness/processes/command.js';
import { runInTerminal } from '../harness/processes/terminal.js';

const database = useDatabase();
const env = {
  get DATABASE_URL() {
    return database.url;
  },
};
const cli = new Cli(env, { app: true }, TEAM_PROGRAM);
const stored = async () =>
  (await database.query<{ id: string }>('SELECT id FROM pets ORDER BY id')).map(({ id }) => id);
const actions = () => database.query('SELECT action FROM operator_actions');
beforeEach(() => database.empty('pets', 'operator_actions'));

const removeSecond = () => database.query('DELETE FROM pets WHERE id = 2');
const sellSecond = () => database.query("UPDATE pets SET status = 'sold' WHERE id = 2");
const add = () => addPets(database, [{}]);

test.each<[args: string, change: string, () => Promise<unknown>, isRemoved: boolean, left: string]>(
  [
    ['1 2', 'one is removed', removeSecond, false, '1,3'],
    ['--status available', 'one is sold', sellSecond, false, '1,2,3'],
    ['--from 1 --to 9', 'one is added', add, true, '4'],
  ],
)('remove %s asks on a terminal, and meanwhile %s', async (args, _, change, isRemoved, left) => {
  await createPets(database, 3);
  const words = ['animals', 'remove', ...args.split(' ')];
  const { code, screen } = await runInTerminal(cli, words, async () => {
    await change();
    return `${database.name}\r`;
  });
  expect([code, (await stored()).join()]).toEqual([isRemoved ? 0 : 1, left]);
  expect(screen.includes('Nothing was removed. Try again.')).toBe(!isRemoved);
  expect(await actions()).toEqual(isRemoved ? [{ action: 'animals remove' }] : []);
});

test('remove --from --to removes at most 50,000 animals', async () => {
  await createPets(database, 50_001);
  const remove = (from: string) =>
    ['animals', 'remove', '--from', from, '--to', '9223372036854775807', '--yes'] as const;
  expect(await cli.failure(1, ...remove('1'))).toBe(
    'These are more than 50000 animals. Choose a smaller range with --from and --to.',
  );
  expect([(await stored()).length, await actions()]).toEqual([50_001, []]);
  const { json } = await cli.run(...remove('2'), '--json');
  expect([json, await stored()]).toEqual([{ removed: 50_000, firstId: 2, lastId: 50_001 }, ['1']]);
});
