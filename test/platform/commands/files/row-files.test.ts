import { useToys } from '../../../harness/database/toys.js';

// The commands of a feature whose entity has properties of several types.
const { database, cli, file } = useToys();
const MAX = 2n ** 63n - 1n;
const BALL = { name: '5', minAge: 0, makerId: MAX, isNew: false, color: 'red' };
const CAR = { name: 'true', minAge: 3, makerId: null, isNew: true, color: null };

const importText = (text: string, format: string) =>
  cli.run('toys', 'import', file(text, format), '--json');
const stored = async () => {
  const rows = await database.query<{ makerId: string | null }>(
    `SELECT the_name AS name, "minAge", maker_id AS "makerId", is_new AS "isNew", color FROM test_toys ORDER BY id`,
  );
  return rows.map((row) => ({ ...row, makerId: row.makerId && BigInt(row.makerId) }));
};

test.each([
  ['csv', `name,minAge,makerId,isNew,color\n5,0,${MAX},false,red\ntrue,,,,\n`],
  [
    'ndjson',
    `{"name":"5","minAge":0,"makerId":${MAX},"isNew":false,"color":"red"}\n{"name":"true"}\n`,
  ],
])(
  'a %s of the types of its entity is imported, exported and imported again',
  async (format, text) => {
    const result = { valid: 2, added: 2, firstId: 1, lastId: 2, ignoredColumns: [] };
    expect(await importText(text, format)).toMatchObject({ code: 0, json: result });
    expect(await stored()).toEqual([BALL, CAR]);
    const exported = await cli.run('toys', 'export', '--format', format);
    expect(exported.stdout.split('\n')[format === 'csv' ? 0 : 1]).toBe(
      format === 'csv'
        ? 'name,minAge,makerId,isNew,color'
        : '{"name":"true","minAge":3,"isNew":true}',
    );
    await database.empty('test_toys');
    expect(await importText(exported.stdout, format)).toMatchObject({ code: 0 });
    expect(await stored()).toEqual([BALL, CAR]);
    expect(await database.query('SELECT action FROM operator_actions')).toEqual([
      { action: 'toys import' },
      { action: 'toys import' },
    ]);
  },
);

test.each(['csv', 'ndjson'])(
  'a %s with ids changes rows, and an empty cell of CSV is invalid where the row has a value',
  async (format) => {
    await importText(`name,minAge,makerId,isNew,color\n5,0,${MAX},false,red\ntrue,,,,\n`, 'csv');
    const exported = await cli.run('toys', 'export', '--ids', '--format', format);
    const update = (text: string) => cli.run('toys', 'update', file(text, format), '--json');
    expect((await update(exported.stdout)).json).toMatchObject({ changed: 0, same: 2, missing: 0 });
    const other = exported.stdout.replace(String(MAX), String(MAX - 1n)).replace('red', 'blue');
    const { json, stdout } = await update(other);
    expect(json).toMatchObject({ changed: 1, same: 1, missing: 0 });
    expect(stdout).toContain(`"changes":{"color":["red","blue"],"makerId":[${MAX},${MAX - 1n}]}`);
    const changed = [{ ...BALL, makerId: MAX - 1n, color: 'blue' }, CAR];
    expect(await stored()).toEqual(changed);
    if (format !== 'csv') return;
    expect((await update('id,name,color\n1,a,\n2,b,\n')).stderr).toMatch(
      /Nothing was changed\. Invalid lines: 1 of 2\nline 2: color is empty, but has a value so far\n$/,
    );
    expect(await stored()).toEqual(changed);
  },
);

test('an update sets the time and the version of the rows that it changes', async () => {
  await importText('name\nball\ncar\n', 'csv');
  const times = () =>
    database.query<{ time: Date; version: number }>(
      'SELECT updated_at AS time, version FROM test_toys ORDER BY id',
    );
  const before = await times();
  expect(before.map(({ version }) => version)).toEqual([1, 1]);
  for (const name of ['bike', 'boat']) {
    const path = file(`id,name\n1,ball\n2,${name}\n`);
    expect((await cli.run('toys', 'update', path, '--json')).json).toMatchObject({ changed: 1 });
  }
  const [same, changed] = await times();
  expect([same, changed?.version]).toEqual([before[0], 3]);
  expect(changed?.time.getTime()).toBeGreaterThan(before[1]!.time.getTime());
});

test('a row breaks the rules of its DTO, and a file has no rows or lacks a required column', async () => {
  const { code, stderr } = await importText('name,minAge,isNew\nball,x,maybe\n', 'csv');
  expect([code, stderr]).toEqual([
    1,
    expect.stringMatching(/line 2: minAge is "x": .+; isNew is "maybe": isNew must be a boo/),
  ]);
  expect((await importText('name\n', 'csv')).stderr).toContain('There are no toys in the input.');
  expect((await importText('color\nred\n', 'csv')).stderr).toContain('No column "name"');
  expect(await stored()).toEqual([]);
});

test('an option for each property has the type of its column and the rules of the DTO', async () => {
  const values = ['--name', '5', '--min-age', '0', '--maker', String(MAX), '--is-new', 'false'];
  const { stdout } = await cli.run('toys', 'change', ...values, '--color', 'red', '--json');
  expect(stdout).toBe(`{"name":"5","minAge":0,"makerId":${MAX},"isNew":false,"color":"red"}\n`);
  expect(await cli.json('toys', 'change', '--name', '5')).toEqual({ name: '5' });
  const cleared = ['--clear', 'color', '--clear', 'makerId'];
  expect(await cli.json('toys', 'change', ...cleared)).toEqual({ color: null, makerId: null });
  for (const [args, line] of [
    ['--color pink', /--color.*red, blue/],
    ['--maker 1.5', /--maker.*int64/],
    ['--min-age x', /minAge must be an integer/],
    ['', /expected --name, --min-age, --maker, --is-new, --color or --clear$/],
    ['--clear name', /--clear.*makerId, color/],
    ['--clear color --color red', /--color and --clear color contradict each other$/],
  ] as const)
    expect(await cli.failure(2, 'toys', 'change', ...args.split(' ').filter(Boolean))).toMatch(
      line,
    );
});
