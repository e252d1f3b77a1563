import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { useDatabase } from '../../../harness/database/database.js';
import { Cli } from '../../../harness/processes/command.js';

// A feature whose table and columns the database checks, and have names of the platform's SQL (features/letters.ts).
const LETTERS = join(__dirname, '../../../../reports/product/test/harness/features/letters.js');
const TABLE = `
  CREATE TABLE staged (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    the_code text NOT NULL CONSTRAINT letters_code_key UNIQUE DEFERRABLE INITIALLY DEFERRED,
    mood text DEFAULT 'calm' CONSTRAINT letters_mood_check CHECK (mood <> 'angry'),
    "row" smallint, parent_id integer REFERENCES letter_parents)`;

const folder = mkdtempSync(join(tmpdir(), 'letters-'));
const database = useDatabase();
let cli: Cli;

beforeAll(async () => {
  await database.query('CREATE TABLE letter_parents (id integer PRIMARY KEY)');
  await database.query(TABLE);
  cli = new Cli({ DATABASE_URL: database.url }, { features: [LETTERS] });
});
beforeEach(() => database.empty('staged', 'operator_actions'));
afterAll(() => rmSync(folder, { recursive: true }));

function file(text: string, format = 'csv'): string {
  const path = join(folder, `letters.${format}`);
  writeFileSync(path, text);
  return path;
}
const importText = (text: string, format?: string) =>
  cli.run('letters', 'import', file(text, format), '--json');
const stored = () => database.query('SELECT the_code AS code, mood, "row" FROM staged ORDER BY id');

test('an entity whose table is `staged` is imported, exported and updated', async () => {
  expect(await importText('code,row\na,1\nb,\n')).toMatchObject({ code: 0, json: { added: 2 } });
  for (const format of ['csv', 'ndjson', 'json']) {
    const { stdout } = await cli.run('letters', 'export', '--ids', '--format', format);
    const path = file(stdout.replace('a', 'a').replace('"b"', '"c"'), format);
    expect(await cli.json('letters', 'update', path)).toMatchObject({ missing: 0 });
  }
  expect(await stored()).toEqual([
    { code: 'a', mood: 'calm', row: 1 },
    { code: 'c', mood: 'calm', row: null },
  ]);
});

test.each([
  ['ndjson', '{"code":"a","mood":null}\n{"code":"b"}\n', []],
  ['json', '[\n{"code":"a","mood":null},\n{"code":"b"}\n]\n', []],
  ['ndjson', '{"code":"a","Mood":null}\n{"code":"b"}\n', ['--map', 'mood=Mood']],
])(
  'null in %s of a nullable column with a default is stored as null, and exported as null',
  async (format, text, options) => {
    await cli.json('letters', 'import', file(text, format), ...options);
    const rows = [
      { code: 'a', mood: null, row: null },
      { code: 'b', mood: 'calm', row: null },
    ];
    expect(await stored()).toEqual(rows);
    const { stdout } = await cli.run('letters', 'export', '--format', format);
    await database.empty('staged', 'operator_actions');
    expect(await importText(stdout, format)).toMatchObject({ code: 0 });
    expect(await stored()).toEqual(rows);
    // The same row without the null is another one.
    const other = stdout.replace('"mood":null', '"mood":"calm"').replaceAll(/"(a|b)"/g, '"$1 2"');
    expect(await importText(other, format)).toMatchObject({ code: 0 });
  },
);

const PARENT = 'parentId is 7, which refers to a row that does not exist';
const DUPLICATE = (code: string) =>
  `code is ${code}, which a stored row or an earlier line already has`;

test('lines that the database rejects are reported with their number, the value and the reason', async () => {
  await importText('code\nstored\n');
  const lines = Array.from({ length: 3_000 }, (_, index) => `n${index},,,`);
  lines[4] = 'stored,,,';
  lines[999] = 'n3,,,';
  lines[1_500] = 'a,angry,,';
  lines[1_501] = 'b,,,7';
  lines[2_998] = 'c,,,7';
  const { code, stderr } = await importText(`code,mood,row,parentId\n${lines.join('\n')}`);
  expect([code, stderr.split('\n').slice(1, -1)]).toEqual([
    1,
    [
      'Nothing was added. Invalid lines: 5 of 3000',
      `line 6: ${DUPLICATE('stored')}`,
      `line 1001: ${DUPLICATE('n3')}`,
      'line 1502: the constraint letters_mood_check does not allow it',
      `line 1503: ${PARENT}`,
      `line 3000: ${PARENT}`,
    ],
  ]);
  expect(await stored()).toHaveLength(1);
});

describe('--skip-invalid --rejects', () => {
  const rejects = join(folder, 'rejects');
  const skipInvalid = (path: string, ...options: string[]) =>
    cli.run(
      'letters',
      'import',
      path,
      '--skip-invalid',
      '--rejects',
      rejects,
      ...options,
      '--json',
    );
  beforeEach(() => rmSync(rejects, { force: true }));

  test.each(['csv', 'ndjson'])(
    'adds the rows of %s that the database accepts, and writes the others in the order of their lines',
    async (format) => {
      await importText('code\nstored\n');
      const lines = Array.from({ length: 3_000 }, (_, index) => `n${index};;;`);
      lines[4] = 'stored;;;';
      lines[999] = 'n3;;;';
      lines[1_500] = '"a;b";angry;;';
      lines[1_501] = 'b;;x;7';
      lines[1_502] = 'b;;70000;';
      lines[2_998] = 'c;;;7';
      const asJson = (line: string) => {
        const [code, mood, row, parentId] = line.replace('a;b', 'a,b').split(';');
        return JSON.stringify({
          code: code?.replaceAll('"', ''),
          ...(mood && { mood }),
          ...(row && { row: row === 'x' ? row : Number(row) }),
          ...(parentId && { parentId: Number(parentId) }),
        });
      };
      const isCsv = format === 'csv';
      const text = isCsv
        ? `code;mood;row;parentId\n${lines.join('\n')}\n`
        : lines.map(asJson).join('\n');
      const { code, json } = await skipInvalid(file(text, format));
      expect([code, json]).toMatchObject([0, { valid: 2_994, added: 2_994, rejected: 6 }]);
      expect(await stored()).toHaveLength(2_995);
      const written = readFileSync(rejects, 'utf8').trimEnd().split('\n');
      const reasons = [
        DUPLICATE('stored'),
        DUPLICATE('n3'),
        'the constraint letters_mood_check does not allow it',
        expect.stringMatching(/^row\b.+integer/),
        expect.stringMatching(/^the database rejects it \(22003: /),
        PARENT,
      ];
      if (!isCsv) {
        expect(written.map((line) => JSON.parse(line).reason)).toEqual(reasons);
        return;
      }
      expect(written[0]).toBe('code;mood;row;parentId;reason');
      const numbers = [4, 999, 1_500, 1_501, 1_502, 2_998];
      for (const [index, number] of numbers.entries()) {
        const [line, reason] = [lines[number]!, written[index + 1]!];
        expect(reason.startsWith(`${line};`)).toBe(true);
        const given = reason.slice(line.length + 1);
        const unquoted = given.startsWith('"') ? given.slice(1, -1).replaceAll('""', '"') : given;
        expect(unquoted).toEqual(reasons[index]);
      }
      const corrected = written.join('\n').replace('stored;', 'new;').replace('\nn3;', '\nnew 2;');
      rmSync(rejects);
      expect((await skipInvalid(file(corrected))).json).toMatchObject({ added: 2, rejected: 4 });
    },
  );

  test('adds nothing and writes no file if the database rejects all rows', async () => {
    await importText('code\na\n');
    const path = file('code,mood\na,\nb,angry\n');
    expect((await skipInvalid(path, '--dry-run')).json).toMatchObject({ valid: 2, rejected: 0 });
    const { code, stderr } = await skipInvalid(path);
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining('Nothing was added. There are no valid letters in the input.'),
    ]);
    expect([await stored(), existsSync(rejects)]).toEqual([[expect.anything()], false]);
    expect(await database.query('SELECT FROM operator_actions')).toHaveLength(1);
  });

  test('adds rows that are accepted one by one, but not together', async () => {
    // The whole file violates the trigger, and no row does.
    await database.query(`
      CREATE FUNCTION at_most_two() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF (SELECT count(*) FROM added) > 2 THEN RAISE 'too many'; END IF; RETURN NULL; END $$;
      CREATE TRIGGER at_most_two AFTER INSERT ON staged REFERENCING NEW TABLE AS added
        FOR EACH STATEMENT EXECUTE FUNCTION at_most_two()`);
    try {
      const path = file('code\na\nb\nc\nd\ne\n');
      expect((await cli.run('letters', 'import', path)).stderr).toMatch(/\ntoo many/);
      expect((await skipInvalid(path)).json).toMatchObject({ added: 5, rejected: 0 });
    } finally {
      await database.query('DROP FUNCTION at_most_two CASCADE');
    }
    expect((await stored()).map(({ code }) => code).join('')).toBe('abcde');
  });
});

test('of more than 20 lines that the database rejects, the first 20 are reported', async () => {
  const { stderr } = await importText(`code\n${'same\n'.repeat(30)}`);
  expect(stderr).toContain('Invalid lines: at least 20 of 30\nline 3: ');
  expect(stderr).toContain(`\nline 22: ${DUPLICATE('same')}\n`);
  expect(stderr.split('\n')).toHaveLength(23);
});

test('a value that the column cannot store is reported with the lines that break the rules', async () => {
  const { code, stderr } = await importText('code,row\na,70000\nb,x\nc,1\n');
  expect(code).toBe(1);
  expect(stderr).toMatch(
    /Invalid lines: 2 of 3\nline 2: the database rejects it \(22003: [^\n]+\)\nline 3: row is "x": row must be an integer number\n$/,
  );
});

test('an update that violates a constraint changes nothing, and reports the line', async () => {
  await importText('code\na\nb\nc\n');
  const run = (text: string) => cli.run('letters', 'update', file(text), '--json');
  expect((await run('id,code\n1,x\n3,b\n')).stderr).toContain(
    `Nothing was changed. Invalid lines: 1 of 2\nline 3: ${DUPLICATE('b')}\n`,
  );
  expect((await stored()).map(({ code }) => code)).toEqual(['a', 'b', 'c']);
  // Each of these alone would be a duplicate.
  expect((await run('id,code\n1,b\n2,a\n')).json).toMatchObject({ changed: 2 });
});

test('an error that no line causes is not reported for a line', async () => {
  await database.query('ALTER TABLE staged RENAME COLUMN mood TO other');
  const { stderr } = await importText('code\na\n');
  await database.query('ALTER TABLE staged RENAME COLUMN other TO mood');
  expect(stderr).toMatch(/\n42703: [^\n]+\n$/);
});
