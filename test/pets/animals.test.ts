import { Client } from 'pg';
import { addPets, animalText, createPets, newAnimal } from '../harness/database/animals.js';
import { useStore } from '../harness/http/store.js';
import { Cli, OPERATOR } from '../harness/processes/command.js';

// The commands for animals, but for those that read and write files (files.test.ts).
const TIME = expect.stringMatching(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/);

const store = useStore({ app: true });
const cli = Cli.on(store.database, { app: true });
const animals = (...args: string[]) => cli.json('animals', ...args);
const remove = (...args: string[]) => cli.run('animals', 'remove', ...args, '--yes', '--json');
const actions = () =>
  store.query('SELECT actor, action, details FROM operator_actions ORDER BY id');
const stored = () => store.query('SELECT * FROM pets ORDER BY id');
const idsOf = (pets: { id: number | string }[]) => pets.map(({ id }) => Number(id));
beforeEach(() => store.database.empty('pets', 'operator_actions'));

test('list, show and count: also when, with which API key and by which owner an animal was added', async () => {
  await store.api.post('/v1/pets', newAnimal({ status: 'sold' }));
  await createPets(store.database, 3, (index) => (index === 1 ? 'pending' : 'available'));
  const [owner] = await store.query('SELECT name AS owner FROM owners');
  const added = {
    ...JSON.parse(animalText({ id: 1, status: 'sold' })),
    addedAt: TIME,
    keyId: Number(store.owner.keyId),
    ...owner,
    importedBy: null,
  };
  expect(await animals('show', '1')).toEqual(added);
  const listed = await animals('list');
  expect(idsOf(listed)).toEqual([4, 3, 2, 1]);
  expect([listed[3], listed[0]]).toEqual([added, { ...listed[0], keyId: null, owner: null }]);
  expect(await animals('count')).toEqual({ available: 2, pending: 1, sold: 1, total: 4 });
});

test('list and show: also which operator imported an animal', async () => {
  await addPets(store.database, [{}]);
  await store.query(
    `INSERT INTO operator_actions (actor, action, details, performed_at)
     SELECT 'bob@desk', 'animals import', '{}', created_at FROM pets`,
  );
  // A client adds one at the very time of the import.
  await store.api.post('/v1/pets', newAnimal());
  await store.query('UPDATE pets SET created_at = (SELECT min(created_at) FROM pets)');
  await addPets(store.database, [{}]);
  const listed: { id: number; importedBy: string | null }[] = await animals('list');
  expect(listed.map(({ importedBy }) => importedBy)).toEqual([null, null, 'bob@desk']);
  for (const animal of listed) expect(await animals('show', String(animal.id))).toEqual(animal);
});

test('list selects by --status, --category and a part of the --name, and --after reaches every animal', async () => {
  await createPets(store.database, 5, (index) => (index === 1 ? 'pending' : 'available'));
  await addPets(store.database, [{ name: 'Frank' }, { name: 'frankie' }, { name: '100%_a\\b' }]);
  const ids = async (...options: string[]) => idsOf(await animals('list', ...options));
  expect(await ids('--status', 'pending')).toEqual([2]);
  expect(await ids('--category', '7')).toEqual([8, 7, 6]);
  expect(await ids('--name', 'FRANK')).toEqual([7, 6]);
  expect(await ids('--name', '0%_a\\')).toEqual([8]);
  expect(await ids('--name', '_')).toEqual([8]);
  const { stderr } = await cli.run('animals', 'list', '--limit', '3');
  expect(stderr).toMatch(/\nFor older animals, add --after 6\.\n$/);
  expect(await ids('--limit', '3', '--after', '6')).toEqual([5, 4, 3]);
  expect(await ids('--after', '6', '--name', 'pet', '--limit', '1')).toEqual([5]);
});

test.each<[args: string, code: 1 | 2, line: RegExp]>([
  ['list --limit 10001', 2, /--limit.*integer from 1 to 10000/],
  ['list --status gone', 2, /available, pending, sold/],
  ['show 1e3', 2, /'id'.*int64/],
  ['show 9223372036854775807', 1, /^No animal has the id 9223372036854775807\.$/],
  ['change 1', 2, /expected --name, --category[, ]/],
  ['change 5 1 7 --status sold', 1, /^No animal has the id 5, 7\.$/],
  ['remove', 2, /expected ids, or --from and --to/],
  ['remove --from 1', 2, /expected ids, or --from and --to/],
  ['remove --from 2 --to 1', 2, /expected ids, or --from and --to/],
  ['remove 1 --from 1 --to 2', 2, /expected ids, or --from and --to/],
  ['remove 1 --status sold', 2, /expected ids, or --from and --to, or --status/],
  ['remove --category 1', 2, /expected ids, or --from and --to, or --status/],
  ['remove --status sold --from 1', 2, /expected ids, or --from and --to, or --status/],
  ['remove 1', 1, /Confirm with --yes/],
  ['remove --from 1 --to 2', 1, /Confirm with --yes/],
  ['remove --status available', 1, /Confirm with --yes/],
  ['remove 1 5 --yes', 1, /^No animal has the id 5\.$/],
  ['remove --from 2 --to 9 --yes', 1, /^No matching animal has an id from 2 to 9\.$/],
  ['remove --status available --category 2 --yes', 1, /^No animal matches\.$/],
])('animals %s › exits with %i and changes nothing', async (args, code, line) => {
  await createPets(store.database, 1);
  const before = await stored();
  expect(await cli.failure(code, 'animals', ...args.split(' '))).toMatch(line);
  expect([await stored(), await actions()]).toEqual([before, []]);
});

test.each<[options: string, left: number[]]>([
  ['--from 2 --to 2', [1, 3, 4, 5]],
  ['--status sold', [2, 5]],
  ['--status sold --category 7', [2, 3, 5]],
  ['--status sold --name REX', [1, 2, 4, 5]],
  ['--status sold --from 2 --to 3', [1, 2, 4, 5]],
])(
  'remove %s removes the animals that match all options, and records it',
  async (options, left) => {
    const sold = { status: 'sold', categoryId: 7n } as const;
    await addPets(store.database, [
      sold,
      { ...sold, status: 'available' },
      { ...sold, categoryId: 8n, name: 'Rexi' },
      sold,
      { ...sold, status: 'pending' },
    ]);
    const { json, stderr } = await remove(...options.split(' '));
    expect(idsOf((await stored()) as { id: string }[])).toEqual(left);
    const removed = [1, 2, 3, 4, 5].filter((id) => !left.includes(id));
    const result = { removed: removed.length, firstId: removed[0], lastId: removed.at(-1) };
    const { firstId, lastId } = result;
    expect(json).toEqual(result);
    expect(stderr).toMatch(
      RegExp(
        `This removes ${result.removed} animals, from ${firstId} ".+" to ${lastId} ".+", from `,
      ),
    );
    const details = {
      ...result,
      ids: removed,
      ...(options.includes('--status') && { status: 'sold' }),
      ...(options.includes('--category') && { category: 7 }),
      ...(options.includes('--name') && { name: 'REX' }),
    };
    expect(await actions()).toEqual([{ actor: OPERATOR, action: 'animals remove', details }]);
  },
);

test('change and remove several animals in one transaction, and record the ids and the properties', async () => {
  await createPets(store.database, 3);
  const change = ['--name', ' =1+1 "😀" ', '--category', '-9223372036854775808'];
  const changed = { name: ' =1+1 "😀" ', status: 'pending', addedAt: TIME };
  expect(await animals('change', '3', '1', '3', ...change, '--status', 'pending')).toMatchObject([
    { id: 1, ...changed },
    { id: 3, ...changed },
  ]);
  await animals('change', '2', '--status', 'sold');
  const text = animalText({ id: 2, name: 'Pet 2', categoryId: 1, status: 'sold' });
  expect((await store.api.get('/v1/pets/2')).text).toBe(text);
  expect((await remove('1', '2', '1')).json).toMatchObject([{ id: 1 }, { id: 2 }]);
  expect(await stored()).toMatchObject([{ id: '3', category_id: '-9223372036854775808' }]);
  const all = ['name', 'categoryId', 'status'];
  const by = { actor: OPERATOR };
  expect(await actions()).toEqual([
    { ...by, action: 'animals change', details: { ids: [3, 1], changed: all } },
    { ...by, action: 'animals change', details: { ids: [2], changed: ['status'] } },
    { ...by, action: 'animals remove', details: { ids: [1, 2] } },
  ]);
});

test('a change accepts at most 1,000 ids, and needs --yes if more than 20 animals differ', async () => {
  const ids = await createPets(store.database, 1_000);
  const change = ['animals', 'change', '--name', 'a', ...ids];
  expect(await cli.failure(1, ...change)).toMatch(/Confirm with --yes/);
  expect((await cli.run(...change, '--yes', '--json')).json).toHaveLength(1_000);
  // None of them differs.
  expect((await cli.run(...change)).code).toBe(0);
  expect(await cli.failure(2, ...change, '1001')).toMatch(/at most 1000 ids/);
});

test.each(['RESTRICT', 'NO ACTION'])(
  'remove › names the table that refers to an animal with ON DELETE %s, and removes none',
  async (action) => {
    await createPets(store.database, 2);
    await store.query(
      `CREATE TABLE collars AS SELECT id AS pet_id FROM pets WHERE id = 2;
       ALTER TABLE collars ADD FOREIGN KEY (pet_id) REFERENCES pets ON DELETE ${action}`,
    );
    const results = [await remove('1', '2'), await remove('--from', '1', '--to', '2')];
    await store.query('DROP TABLE collars');
    for (const { code, stdout, stderr } of results) {
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr).toMatch(
        /\nThe table collars refers to the animal 2\. Nothing was removed\.\n$/,
      );
    }
    expect([(await stored()).length, await actions()]).toEqual([2, []]);
  },
);

test('a locked animal stops a command, which holds no lock then', async () => {
  await createPets(store.database, 2);
  const holder = new Client({ connectionString: store.database.url });
  await holder.connect();
  await holder.query('BEGIN; SELECT FROM pets WHERE id = 2 FOR UPDATE');
  const change = await cli.run('animals', 'change', '1', '2', '--name', 'a');
  for (const { code, stdout, stderr } of [change, await remove('1', '2')]) {
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/\nAnother transaction .+ Nothing was \w+\. Run the command again\.\n$/);
  }
  await store.query('SELECT FROM pets WHERE id = 1 FOR UPDATE NOWAIT');
  await holder.end();
  expect(await actions()).toEqual([]);
});
