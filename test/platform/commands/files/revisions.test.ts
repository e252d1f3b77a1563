import { useToys } from '../../../harness/database/toys.js';

// An export with ids and an update of rows that change in between.
const { database, cli, file } = useToys();

beforeEach(() =>
  database.query(
    `INSERT INTO test_toys (the_name, color, version) VALUES ('ball', 'red', 1), ('it''s', NULL, 1), ('a\\b', 'blue', 1)`,
  ),
);

const exported = async (format = 'csv') =>
  (await cli.run('toys', 'export', '--ids', '--format', format)).stdout;
const update = (text: string, ...options: string[]) =>
  cli.json('toys', 'update', file(text), ...options);
const stored = () => database.query('SELECT * FROM test_toys ORDER BY id');
const names = async () => (await stored()).map((row) => row['the_name']);

test('the last column of an export with ids is the revision, which depends on the values only', async () => {
  const text = await exported();
  expect(text.split('\n')[0]).toBe('id,name,minAge,makerId,isNew,color,revision');
  expect(text).toMatch(/^1,ball,3,,t,red,r[0-9a-f]{12}$/m);
  const revisions = (shown: string) => shown.match(/\br[0-9a-f]{12}\b/g);
  expect(new Set(revisions(text))).toHaveProperty('size', 3);
  for (const format of ['ndjson', 'json']) {
    const json = await exported(format);
    expect(revisions(json)).toEqual(revisions(text));
    expect(json).toMatch(/"revision":"r[0-9a-f]{12}"\}\n/);
  }
  for (const change of [
    `the_name = 'ball '`,
    '"minAge" = 4',
    'maker_id = 1',
    'is_new = false',
    'color = NULL',
  ]) {
    await database.query(`UPDATE test_toys SET ${change} WHERE id = 1`);
    const [changed, ...others] = revisions(await exported()) ?? [];
    expect([changed, ...others]).toEqual([
      expect.not.stringMatching(revisions(text)![0]),
      ...revisions(text)!.slice(1),
    ]);
    await database.query(
      `UPDATE test_toys SET the_name = 'ball', "minAge" = 3, maker_id = NULL, is_new = true, color = 'red',
        version = version + 1, updated_at = now() WHERE id = 1`,
    );
    expect(await exported()).toBe(text);
  }
  expect((await cli.run('toys', 'export')).stdout).not.toContain('revision');
});

test.each(['csv', 'ndjson', 'json'])(
  'an update from %s changes nothing if one of its rows has been changed since, unless --overwrite',
  async (format) => {
    const text = await exported(format);
    await database.query(`UPDATE test_toys SET color = 'blue' WHERE id = 1`);
    await database.query(`UPDATE test_toys SET "minAge" = 9 WHERE id = 2`);
    const before = await stored();
    const path = file(text.replace(/"?a\\+b"?/, '"car"'), format);
    for (const options of [[], ['--dry-run']]) {
      const { code, stderr } = await cli.run('toys', 'update', path, ...options);
      expect([code, stderr.split('\n').slice(1, -1)]).toEqual([
        1,
        [
          'Nothing was changed. Changed since the export of the file: 2 toys',
          'id 1: color is "blue", in the file "red"',
          'id 2: minAge is 9, in the file 3',
          expect.stringMatching(/^Export them again or remove their lines .+ set --overwrite\.$/),
        ],
      ]);
    }
    expect(await stored()).toEqual(before);
    expect(await database.query('SELECT FROM operator_actions')).toEqual([]);
    expect(await cli.json('toys', 'update', path, '--overwrite')).toMatchObject({ changed: 3 });
    expect(await stored()).toMatchObject([{ color: 'red' }, { minAge: 3 }, { the_name: 'car' }]);
  },
);

test('rows that have been changed since, but have the values of the file, are the same', async () => {
  const text = (await exported()).replace('ball', 'car');
  expect(await update(text)).toMatchObject({ changed: 1, same: 2 });
  expect(await update(text)).toMatchObject({ changed: 0, same: 3 });
});

test('columns in another order or missing do not matter, and a file without revisions is not checked', async () => {
  const rows = (await exported())
    .trim()
    .split('\n')
    .map((line) => line.split(','));
  const columns = (row: string[]) => [row.at(-1), row[5], row[0]].join(',');
  const text = rows.map(columns).join('\n').replace(',red,', ',blue,');
  await database.query(`UPDATE test_toys SET the_name = 'new' WHERE id = 3`);
  expect(await update(text)).toMatchObject({ changed: 1, same: 2 });
  expect(
    (await cli.run('toys', 'update', file(text.replace(',blue,3', ',red,3')))).stderr,
  ).toContain('id 3: color is "blue", in the file "red"');
  expect(await update('id,name\n1,a\n3,b\n')).toMatchObject({ changed: 2 });
  expect(await names()).toEqual(['a', "it's", 'b']);
  // A cell that was cleared, and a row of another id.
  expect(await update('id,name,revision\n1,c,\n')).toMatchObject({ changed: 1 });
  const [, first = [], second = []] = rows;
  const swapped = `id,name,revision\n${first[0]},c,${second.at(-1)}\n2,x,${first.at(-1)}`;
  expect((await cli.run('toys', 'update', file(swapped))).stderr).toMatch(
    /export.+: 1 toys\nid 2: /,
  );
});

test('of more than 20 changed rows, the first 20 are listed', async () => {
  await database.query(
    `INSERT INTO test_toys (the_name, version) SELECT n, 1 FROM generate_series(4, 30) n`,
  );
  const text = (await exported()).replaceAll(',3,', ',5,');
  await database.query('UPDATE test_toys SET "minAge" = 4');
  const { stderr } = await cli.run('toys', 'update', file(text));
  expect(stderr).toMatch(/: 30 toys\nid 1: [^]+\nid 20: [^\n]+\nand 10 more\nExport/);
});
