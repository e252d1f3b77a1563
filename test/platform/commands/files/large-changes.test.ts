import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isMisread } from '../../../../src/platform/commands/files/file-text.js';
import { useToys } from '../../../harness/database/toys.js';

// Updates of many rows.
const { database, folder, cli, file } = useToys();
const former = join(folder, 'former.csv');

beforeEach(async () => {
  rmSync(former, { force: true });
  await database.query(
    `INSERT INTO test_toys (the_name, version) SELECT 'Jörg ' || n, 1 FROM generate_series(1, 30) n`,
  );
});

/** Returns a file that changes the first rows. */
function fileOf(count: number, nameOf: (id: number) => string): string {
  const ids = Array.from({ length: count }, (_, index) => index + 1);
  return file(['id,name,minAge', ...ids.map((id) => `${id},${nameOf(id)},4`)].join('\n'));
}
const update = (path: string, ...options: string[]) => cli.run('toys', 'update', path, ...options);
const stored = () =>
  database.query('SELECT id, the_name AS name, "minAge", color FROM test_toys ORDER BY id');

test('a change of more than 20 rows needs --yes, and shows the number and the first 20 as a table', async () => {
  const before = await stored();
  expect(
    await cli.failure(
      1,
      'toys',
      'update',
      fileOf(21, (id) => `Bo ${id}`),
    ),
  ).toBe('Standard input is not a terminal. Confirm with --yes.');
  expect(await stored()).toEqual(before);
  expect(
    (
      await update(
        fileOf(21, (id) => `Bo ${id}`),
        '--dry-run',
      )
    ).code,
  ).toBe(0);
  const { code, stderr, stdout } = await update(
    fileOf(21, (id) => `Bo ${id}`),
    '--yes',
  );
  expect(code).toBe(0);
  const lines = stderr.split('\n');
  expect(lines[1]).toMatch(/^This changes 21 toys in .+\. The first 20:$/);
  expect(lines.slice(2, 6)).toEqual([
    'id  property  before   after',
    '1   name      Jörg 1   Bo 1',
    '1   minAge    3        4',
    '2   name      Jörg 2   Bo 2',
  ]);
  expect(lines[42]).toBe('20  minAge    3        4');
  expect(lines[43]).toMatch(/^Only the first 20 of 21 toys/);
  expect(stdout).toMatch(
    /^changed +21\n[^]+\n\nchanges:\nid {2}property [^]+\n1 [^]+\n20 {2}minAge {4}3 {8}4\n$/,
  );
  expect(await update(fileOf(20, (id) => `Ann ${id}`))).toMatchObject({ code: 0 });
});

test('--json has all changes', async () => {
  for (const options of [['--dry-run'], ['--yes']]) {
    const { json } = await update(
      fileOf(30, () => 'Bo'),
      '--json',
      ...options,
    );
    expect(json).toMatchObject({ changed: 30 });
    expect(json.changes).toHaveLength(30);
    expect(json.changes[29]).toEqual({
      id: 30,
      changes: { name: ['Jörg 30', 'Bo'], minAge: [3, 4] },
    });
  }
});

test('--former writes the rows as they were, and an update with it restores them', async () => {
  await database.query(`UPDATE test_toys SET the_name = E'a "b",\\r\\nc;' WHERE id = 2`);
  await database.query(`UPDATE test_toys SET maker_id = 7, color = 'red'`);
  const before = await stored();
  const path = fileOf(3, () => 'Bo');
  expect((await update(path, '--former', former, '--dry-run')).code).toBe(0);
  expect((await update(path, '--former', former)).code).toBe(0);
  expect(readFileSync(former, 'utf8')).toMatch(
    /^id,name,minAge,makerId,isNew,color,revision\n1,Jörg 1,3,7,true,red,r[0-9a-f]{12}\n2,"a ""b"",\r\nc;",3,/,
  );
  expect(await cli.json('toys', 'update', former)).toMatchObject({
    changed: 3,
    ignoredColumns: [],
  });
  expect(await stored()).toEqual(before);
});

test('--former restores properties that had no value', async () => {
  await database.query(`UPDATE test_toys SET color = 'red' WHERE id = 2`);
  await database.query(`UPDATE test_toys SET maker_id = 9223372036854775807 WHERE id = 1`);
  const values = () =>
    database.query(
      'SELECT id, the_name, "minAge", maker_id, is_new, color FROM test_toys ORDER BY id',
    );
  const before = await values();
  const path = file('id,makerId,color\n1,5,blue\n2,6,blue\n3,7,red\n');
  expect(await cli.json('toys', 'update', path, '--former', former)).toMatchObject({ changed: 3 });
  expect(readFileSync(former, 'utf8')).toMatch(
    /^\{"id":1,"name":"Jörg 1","minAge":3,"makerId":9223372036854775807,"isNew":true,"color":null,"revision":"r[0-9a-f]{12}"\}\n/,
  );
  expect(await cli.json('toys', 'update', former)).toMatchObject({ changed: 3 });
  expect(await values()).toEqual(before);
});

test('null in JSON clears a property, except a required one', async () => {
  await database.query(`UPDATE test_toys SET maker_id = 7, color = 'red' WHERE id < 3`);
  const text = '{"id":1,"color":null}\n{"id":2,"makerId":null}\n{"id":3,"color":null}\n';
  const path = file(text, 'ndjson');
  expect(await cli.json('toys', 'update', path)).toMatchObject({ changed: 2, same: 1 });
  expect(
    await database.query('SELECT maker_id, color FROM test_toys WHERE id < 3 ORDER BY id'),
  ).toEqual([
    { maker_id: '7', color: null },
    { maker_id: null, color: 'red' },
  ]);
  const invalid = file('{"id":1,"name":null}\n', 'ndjson');
  expect((await cli.run('toys', 'update', invalid)).stderr).toContain('line 1: name must be');
});

test('--former does not restore what has been changed after the update', async () => {
  expect(
    (
      await update(
        fileOf(2, () => 'Bo'),
        '--former',
        former,
      )
    ).code,
  ).toBe(0);
  await database.query(`UPDATE test_toys SET the_name = 'new' WHERE id = 1`);
  const { code, stderr } = await update(former);
  expect([code, stderr]).toEqual([1, expect.stringMatching(/: 1 toys\nid 1: name is "new"/)]);
});

test.each([
  [former, 'already exists'],
  [join(folder, 'none', 'former.csv'), 'cannot be written (ENOENT)'],
])('without a new file for --former, nothing is changed: %s', async (path, reason) => {
  writeFileSync(former, 'kept');
  const before = await stored();
  const line = await cli.failure(
    1,
    'toys',
    'update',
    fileOf(2, () => 'Bo'),
    '--former',
    path,
  );
  expect(line).toBe(`Nothing was changed. The file "${path}" ${reason}.`);
  expect([await stored(), readFileSync(former, 'utf8')]).toEqual([before, 'kept']);
});

test('the question counts the texts that were read in a wrong encoding', async () => {
  const wrong = (id: number) => (id % 2 ? `JÃ¶rg ${id}` : `Jörg ${id}`);
  const { code, stderr } = await update(fileOf(30, wrong), '--yes');
  expect(code).toBe(0);
  expect(stderr).toContain(
    '\n15 of the new values look like UTF-8 that was opened as windows-1252, such as "JÃ¶rg 1".\n',
  );
});

test.each<[text: string, isWrong: boolean]>([
  ['JÃ¶rg', true],
  ['ZoÃ«', true],
  ['â‚¬', true],
  ['ðŸ˜€', true],
  ['Jörg', false],
  ['Frank', false],
  ['SÃO PAULO', false],
  ['é', false],
  ['日本', false],
  ['', false],
])('isMisread › %j is %s', (text, isWrong) => {
  expect(isMisread(text)).toBe(isWrong);
});
