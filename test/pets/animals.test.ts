import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import type { ApiResponse } from '../harness/http/client.js';
import { useStore } from '../harness/http/store.js';
import { Cli, OPERATOR } from '../harness/processes/command.js';
import { UNBOUNDED } from '../harness/service/service.js';
import { addPets, animalText, createPets, newAnimal } from './animal.js';

const TIME = expect.stringMatching(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/);
const MAX = 2n ** 63n - 1n;

const folder = mkdtempSync(join(tmpdir(), 'animals-'));
afterAll(() => rmSync(folder, { recursive: true }));
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

test('list, show and count: also when, with which API key and by which owner an animal was added', async () => {
  await store.api.post('/v1/pets', newAnimal({ status: 'sold' }));
  await createPets(store.database, 3, (index) => (index === 1 ? 'pending' : 'available'));
  const [owner] = await store.query('SELECT name AS owner FROM owners');
  const keyId = Number(store.owner.keyId);
  const added = {
    ...JSON.parse(animalText({ id: 1, status: 'sold' })),
    addedAt: TIME,
    keyId,
    ...owner,
    importedBy: null,
  };
  expect(await animals('show', '1')).toEqual(added);
  const listed = await animals('list');
  expect(idsOf(listed)).toEqual([4, 3, 2, 1]);
  expect([listed[3], listed[0]]).toEqual([added, { ...listed[0], keyId: null, owner: null }]);
  const ids = async (...options: string[]) => idsOf(await animals('list', ...options));
  expect(await ids('--status', 'available')).toEqual([4, 2]);
  expect(await ids('--category', '7')).toEqual([1]);
  expect(await ids('--limit', '2')).toEqual([4, 3]);
  expect(await animals('count')).toEqual({ available: 2, pending: 1, sold: 1, total: 4 });
  const { stdout } = await cli.run('animals', 'list');
  expect(stdout).toMatch(/^id {2}name +categoryId {2}status +addedAt +keyId {2}owner\n4 /);
});

test('list and show: also which operator imported an animal', async () => {
  const file = join(folder, 'import.ndjson');
  for (const name of ['Ann', 'Bo']) {
    writeFileSync(file, JSON.stringify(newAnimal({ name })));
    await animals('import', file);
    await store.api.post('/v1/pets', newAnimal());
  }
  await store.query(`UPDATE operator_actions SET actor = 'bob@desk' WHERE id = 2`);
  await addPets(store.database, [{}]);
  // A client adds an animal at the very time of an import.
  await store.query(
    'UPDATE pets SET created_at = (SELECT created_at FROM pets WHERE id = 1) WHERE id = 2',
  );
  const importers = [null, null, 'bob@desk', null, OPERATOR];
  const listed: { id: number; importedBy: string | null }[] = await animals('list');
  expect(listed.map(({ importedBy }) => importedBy)).toEqual(importers);
  for (const animal of listed) expect(await animals('show', String(animal.id))).toEqual(animal);
  const { stdout } = await cli.run('animals', 'list');
  expect(stdout).toMatch(/ importedBy\n5 /);
});

test('an int64 keeps every digit, and a name does not change what the terminal shows', async () => {
  const name = 'a\n\u001b[31mb\u202e😀';
  await addPets(store.database, [{ name, categoryId: MAX }]);
  const { stdout } = await cli.run('animals', 'list', '--json');
  expect(stdout).toContain(`"categoryId":${MAX},`);
  for (const command of ['list', 'show 1']) {
    const { stdout } = await cli.run('animals', ...command.split(' '));
    expect(stdout).toContain('a\ufffd\ufffd[31mb\ufffd😀');
  }
  expect((await remove('1')).stderr).toContain('removes 1 "a\ufffd\ufffd[31mb\ufffd😀" from');
});

test.each<[args: string, code: 1 | 2, line: RegExp]>([
  ['list --limit 0', 2, /--limit.*integer from 1 to 10000/],
  ['list --after x', 2, /--after.*int64/],
  ['remove', 2, /expected ids, or --from and --to/],
  ['remove --from 1', 2, /expected ids, or --from and --to/],
  ['remove --from 2 --to 1', 2, /expected ids, or --from and --to/],
  ['remove 1 --from 1 --to 2', 2, /expected ids, or --from and --to/],
  ['remove --category 1', 2, /expected ids, or --from and --to, or --status/],
  ['remove 1 --status sold', 2, /expected ids, or --from and --to, or --status/],
  ['remove --status sold --from 1', 2, /expected ids, or --from and --to, or --status/],
  ['remove --status gone', 2, /available, pending, sold/],
  ['remove --status available', 1, /Confirm with --yes/],
  ['remove --status available --category 2 --yes', 1, /^No animal matches\.$/],
  ['remove --from 1 --to 2', 1, /Confirm with --yes/],
  ['remove --from 2 --to 9 --yes', 1, /^No matching animal has an id from 2 to 9\.$/],
  ['list --limit 10001', 2, /--limit.*integer from 1 to 10000/],
  ['list --status gone', 2, /available, pending, sold/],
  ['list --category 9223372036854775808', 2, /--category.*int64/],
  ['show 1e3', 2, /'id'.*int64/],
  ['show 9223372036854775807', 1, /^No animal has the id 9223372036854775807\.$/],
  ['change 1', 2, /expected --name, --category[, ]/],
  ['change --status sold', 2, /missing required argument 'ids'/],
  ['change 1 --status gone', 2, /available, pending, sold/],
  ['change 1 --category 1.5', 2, /int64/],
  ['change 5 1 7 --status sold', 1, /^No animal has the id 5, 7\.$/],
  ['remove 1', 1, /Confirm with --yes/],
  ['remove 1 5 --yes', 1, /^No animal has the id 5\.$/],
])('animals %s › exits with %i and changes nothing', async (args, code, line) => {
  await createPets(store.database, 1);
  const before = await stored();
  expect(await cli.failure(code, 'animals', ...args.split(' '))).toMatch(line);
  expect([await stored(), await actions()]).toEqual([before, []]);
});

test('list --name finds a part of a name in any case, and --after reaches every animal', async () => {
  await createPets(store.database, 5, () => 'available');
  for (const name of ['Frank', 'frankie', '100%_a\\b', 'Zoë'])
    await store.api.post('/v1/pets', newAnimal({ name }));
  const ids = async (...options: string[]) => idsOf(await animals('list', ...options));
  expect(await ids('--name', 'FRANK')).toEqual([7, 6]);
  expect(await ids('--name', '0%_a\\')).toEqual([8]);
  expect(await ids('--name', '_')).toEqual([8]);
  expect(await ids('--name', 'none')).toEqual([]);
  const { stderr } = await cli.run('animals', 'list', '--limit', '4');
  expect(stderr).toMatch(/\nFor older animals, add --after 6\.\n$/);
  expect(await ids('--limit', '4', '--after', '6')).toEqual([5, 4, 3, 2]);
  expect(
    await ids('--after', '6', '--name', 'pet', '--status', 'available', '--limit', '1'),
  ).toEqual([5]);
  const { stdout, stderr: last } = await cli.run('animals', 'list', '--limit', '4', '--after', '2');
  expect([stdout.split('\n').length, last]).toEqual([3, expect.not.stringContaining('--after')]);
  expect((await cli.run('animals', 'list', '--help')).stdout).toMatch(/how many, at most 10000/);
});

test('remove --from --to removes one animal if both are its id', async () => {
  await createPets(store.database, 3);
  const { json } = await remove('--from', '2', '--to', '2');
  expect(json).toEqual({ removed: 1, firstId: 2, lastId: 2 });
  expect((await stored()).map(({ id }) => id)).toEqual(['1', '3']);
});

test.each<[options: string, left: string[]]>([
  ['--status sold', ['2', '5']],
  ['--status sold --category 7', ['2', '3', '5']],
  ['--status sold --name REX', ['1', '2', '4', '5']],
  ['--status sold --from 2 --to 3', ['1', '2', '4', '5']],
])(
  'remove %s removes the animals that match all options, and records them',
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
    expect((await stored()).map(({ id }) => id)).toEqual(left);
    const removed = [1, 2, 3, 4, 5].filter((id) => !left.includes(String(id)));
    const result = { removed: removed.length, firstId: removed[0], lastId: removed.at(-1) };
    expect([json, stderr]).toEqual([
      result,
      expect.stringMatching(
        `This removes ${result.removed} animals, from ${result.firstId} ".+" to ${result.lastId} ".+"`,
      ),
    ]);
    const [{ details }] = (await actions()) as [{ details: object }];
    expect(details).toEqual({
      ...result,
      status: 'sold',
      ...(options.includes('--category') && { category: 7 }),
      ...(options.includes('--name') && { name: 'REX' }),
    });
  },
);

test('a change of more than 20 animals needs --yes without a terminal', async () => {
  const ids = await createPets(store.database, 21, () => 'sold');
  const before = await stored();
  const change = ['animals', 'change', ...ids, '--status', 'pending', '--category', '1'];
  expect(await cli.failure(1, ...change)).toMatch(/Confirm with --yes/);
  expect(await stored()).toEqual(before);
  const { code, stderr } = await cli.run(...change, '--yes');
  expect([code, stderr.split('\n').slice(1, 5)]).toEqual([
    0,
    [
      expect.stringMatching(/^This changes 21 animals in .+\. The first 20:$/),
      'id  property  before  after',
      '1   status    sold    pending',
      '2   status    sold    pending',
    ],
  ]);
  // None of them differs.
  expect((await cli.run(...change)).code).toBe(0);
});

test('a command accepts at most 1,000 ids', async () => {
  const ids = await createPets(store.database, 1_000);
  const change = ['change', '--name', 'a', '--yes', ...ids];
  expect((await cli.run('animals', ...change, '--json')).json).toHaveLength(1_000);
  expect(await cli.failure(2, 'animals', ...change, '1001')).toMatch(/at most 1000 ids/);
});

test('change and remove several animals in one transaction, and record the ids and the properties', async () => {
  await createPets(store.database, 3);
  const change = ['--name', ' =1+1 "😀" ', '--category', `-${MAX + 1n}`, '--status', 'pending'];
  const changed = { name: ' =1+1 "😀" ', status: 'pending', addedAt: TIME };
  expect(await animals('change', '3', '1', '3', ...change)).toMatchObject([
    { id: 1, ...changed },
    { id: 3, ...changed },
  ]);
  const { stdout } = await cli.run('animals', 'change', '2', '--status', 'sold', '--json');
  expect(stdout).toContain(
    animalText({ id: 2, name: 'Pet 2', categoryId: 1, status: 'sold' }).slice(0, -1),
  );
  expect((await remove('1', '2', '1')).json).toMatchObject([{ id: 1 }, { id: 2 }]);
  expect(await stored()).toMatchObject([{ id: '3', category_id: String(-MAX - 1n) }]);
  const all = ['name', 'categoryId', 'status'];
  const by = { actor: OPERATOR };
  expect(await actions()).toEqual([
    { ...by, action: 'animals change', details: { ids: [3, 1], changed: all } },
    { ...by, action: 'animals change', details: { ids: [2], changed: ['status'] } },
    { ...by, action: 'animals remove', details: { ids: [1, 2] } },
  ]);
});

test.each(['RESTRICT', 'NO ACTION'])(
  'remove › exits with 1, names the table that refers to an animal with ON DELETE %s, and removes none',
  async (action) => {
    await createPets(store.database, 2);
    await store.query(
      `CREATE TABLE collars AS SELECT id AS pet_id FROM pets WHERE id = 2;
       ALTER TABLE collars ADD FOREIGN KEY (pet_id) REFERENCES pets ON DELETE ${action}`,
    );
    const { code, stdout, stderr } = await remove('1', '2');
    const range = await remove('--from', '1', '--to', '2');
    const remaining = idsOf((await animals('list')) as { id: number }[]);
    await store.query('DROP TABLE collars');
    expect({ code, stdout, remaining }).toEqual({ code: 1, stdout: '', remaining: [2, 1] });
    expect(range).toMatchObject({
      code,
      stdout,
      stderr: expect.stringContaining('The table collars'),
    });
    expect(stderr).toMatch(/\nThe table collars refers to the animal 2\. Nothing was removed\.\n$/);
    expect(await actions()).toEqual([]);
  },
);

test.each(['', ' \t\u00a0', 'x'.repeat(256), '😀'.repeat(256)])(
  'change --name %j › exits with 2 and the message of createPet',
  async (name) => {
    const { json } = await store.api.post('/v1/pets', newAnimal({ name }));
    const line = await cli.failure(2, 'animals', 'change', '1', '--name', name);
    expect(line).toBe(`error: ${json.message}`);
  },
);

test('a list, a get, an ETag and a cursor see a change at once', async () => {
  await createPets(store.database, 2);
  for (const path of ['/v1/pets?limit=1', '/v1/pets/1', '/v1/pets?status=available']) {
    let etag = '"none"';
    for (const name of ['Ann', 'Ben'].map((name) => `${name} ${path}`)) {
      await animals('change', '1', '--name', name);
      const { status, headers, json } = await store.api.get(path, { 'If-None-Match': etag });
      expect([status, [json].flat()[0].name, headers.etag === etag]).toEqual([200, name, false]);
      etag = String(headers.etag);
    }
  }
  const next = nextOf(await store.api.get('/v1/pets?limit=1')) ?? '';
  await remove('1');
  expect(idsOf((await store.api.get(next)).json)).toEqual([2]);
  expect((await store.api.get('/v1/pets/1')).status).toBe(404);
});

test('a locked animal stops the command within a second, and it holds no lock then', async () => {
  await createPets(store.database, 2);
  const holder = new Client({ connectionString: store.database.url });
  await holder.connect();
  await holder.query('BEGIN; SELECT FROM pets WHERE id = 2 FOR UPDATE');
  const change = await cli.run('animals', 'change', '1', '2', '--name', 'a');
  const range = await remove('--from', '1', '--to', '2');
  for (const { code, stdout, stderr } of [change, await remove('1', '2'), range]) {
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/\nAnother transaction .+ Nothing was \w+\. Run the command again\.\n$/);
  }
  await store.query('SELECT FROM pets WHERE id = 1 FOR UPDATE NOWAIT');
  await holder.end();
  expect(await actions()).toEqual([]);
});
