import type { ApiResponse } from '../harness/http/client.js';
import { useStore } from '../harness/http/store.js';
import { Cli, OPERATOR } from '../harness/processes/command.js';
import { UNBOUNDED } from '../harness/service/service.js';
import { createPets, newAnimal } from './animal.js';

const MAX = 2n ** 63n - 1n;

const store = useStore({ app: true, nowMs: Date.now(), env: UNBOUNDED });
const cli = Cli.on(store.database, { app: true });
const animals = (...args: string[]) => cli.json('animals', ...args);
const remove = (...ids: string[]) => cli.run('animals', 'remove', ...ids, '--yes', '--json');
const actions = () =>
  store.query('SELECT actor, action, details FROM operator_actions ORDER BY id');
const stored = () => store.query('SELECT * FROM pets ORDER BY id');
const idsOf = (pets: { id: number }[]) => pets.map(({ id }) => id);
const nextOf = ({ headers }: ApiResponse) =>
  /\/v1.+(?=>; rel="next")/.exec(String(headers.link))?.[0];
beforeEach(() => store.query('TRUNCATE pets, operator_actions RESTART IDENTITY CASCADE'));

test('remove --from --to takes back an import of 10,000 animals in one transaction', async () => {
  await createPets(store.database, 2);
  await createPets(store.database, 10_000);
  await createPets(store.database, 1);
  await store.query('DELETE FROM pets WHERE id = 5');
  const { json, stderr } = await cli.run(
    'animals',
    'remove',
    '--from',
    '3',
    '--to',
    '10002',
    '--yes',
    '--json',
  );
  expect(stderr).toContain('This removes 9999 animals, from 3 "Pet 1" to 10002 "Pet 10000", from ');
  const details = { removed: 9_999, firstId: 3, lastId: 10_002 };
  expect(json).toEqual(details);
  expect((await stored()).map(({ id }) => id)).toEqual(['1', '2', '10003']);
  expect(await actions()).toEqual([{ actor: OPERATOR, action: 'animals remove', details }]);
});

test('remove --from --to removes at most 50,000 animals', async () => {
  await createPets(store.database, 50_001);
  const before = await stored();
  expect(
    await cli.failure(1, ...['animals', 'remove', '--from', '1', '--to', String(MAX), '--yes']),
  ).toBe('These are more than 50000 animals. Choose a smaller range with --from and --to.');
  expect([await stored(), await actions()]).toEqual([before, []]);
  expect((await remove('--from', '2', '--to', '50001')).json).toMatchObject({ removed: 50_000 });
  expect(idsOf(await animals('list'))).toEqual([1]);
});

test('while 20 clients list, get and add, no request fails and no page is wrong', async () => {
  const ids = await createPets(store.database, 300);
  const kept = ids.filter((_, index) => index % 3 > 0).map(Number);
  let isDone = false;
  const failures: unknown[] = [];
  const get = async (path: string, ...expected: number[]) => {
    const response = await store.api.get(path);
    if (![200, ...expected].includes(response.status)) failures.push([path, response.status]);
    return response;
  };
  const client = async (number: number): Promise<void> => {
    while (!isDone) {
      const walked: number[] = [];
      for (let path: string | undefined = '/v1/pets?limit=70'; path;) {
        const page: ApiResponse = await get(path);
        walked.push(...idsOf(page.json));
        path = nextOf(page);
      }
      const isOrdered = walked.every((id, index) => index === 0 || id > walked[index - 1]!);
      if (!isOrdered || kept.some((id) => !walked.includes(id))) failures.push(walked);
      const { json: sold } = await get('/v1/pets?status=sold&limit=100');
      if (sold.some(({ status }: { status: string }) => status !== 'sold')) failures.push(sold);
      await get(`/v1/pets/${1 + ((number * 15) % 300)}`, 404);
      const added = await store.api.post(
        '/v1/pets',
        newAnimal({ name: 'new', categoryId: number }),
      );
      if (added.status !== 201) failures.push(added.text);
    }
  };
  const clients = Array.from({ length: 20 }, (_, number) => client(number));
  for (let start = 0; start < 300; start += 60) {
    const some = ids.slice(start, start + 60);
    const status = start % 120 ? 'sold' : 'pending';
    const change = ['--name', 'changed', '--status', status, '--yes'];
    expect((await cli.run('animals', 'change', ...some, ...change)).code).toBe(0);
    await remove(...some.filter((_, index) => index % 3 === 0));
  }
  isDone = true;
  await Promise.all(clients);
  expect(failures).toEqual([]);
});
