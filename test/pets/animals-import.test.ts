import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { useDatabase } from '../harness/database/database.js';
import { createOwner } from '../harness/database/factories.js';
import { ApiClient } from '../harness/http/client.js';
import { Cli, DATABASE_LINE, OPERATOR, TEAM_PROGRAM } from '../harness/processes/command.js';
import { until } from '../harness/run/until.js';
import { inheritedEnvironment, startService } from '../harness/service/service.js';
import { EXPORTED_COLUMNS } from './animal.js';

const MAX = 2n ** 63n - 1n;
const HEADER = 'name,categoryId,status\n';
const NAME = /name is required and must be a string of 1 to 255 characters/;

const folder = mkdtempSync(join(tmpdir(), 'animals-'));
const database = useDatabase();
const empty = useDatabase();
const cli = Cli.on(database, { app: true });
const path = (name: string) => join(folder, name);

function file(content: string | Buffer, name = 'animals.csv'): string {
  writeFileSync(path(name), content);
  return path(name);
}
const importFile = (...args: string[]) => cli.json('animals', 'import', ...args);
const stored = (from = database) =>
  from.query('SELECT name, category_id, status FROM pets ORDER BY id');
const row = (name: string, category_id: bigint | number = 1, status = 'available') => ({
  ...{ name, category_id: String(category_id), status },
});
/** Returns the line about a file that adds nothing. */
async function rejected(...args: string[]): Promise<string> {
  const line = await cli.failure(1, 'animals', 'import', ...args);
  const records = await database.query('SELECT FROM operator_actions');
  expect([await stored(), records]).toEqual([[], []]);
  return line;
}
/** Runs a shell command with `$PETS` in processes of their own, and returns its output. */
async function shell(command: string): Promise<{ code: number; output: string }> {
  const env = { PETS: `${process.execPath} ${TEAM_PROGRAM}`, DATABASE_URL: database.url };
  const child = spawn('bash', ['-o', 'pipefail', '-c', command], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...inheritedEnvironment(), ...env },
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  const [code] = (await once(child, 'close')) as [number];
  return { code, output };
}
beforeEach(() => database.query('TRUNCATE pets, operator_actions RESTART IDENTITY CASCADE'));
afterAll(() => rmSync(folder, { recursive: true }));

describe('animals import', () => {
  test.each<[format: string, name: string, content: string, ...options: string[]]>([
    [
      ...['CSV', 'animals.csv'],
      `${HEADER}"O""Hara, ""A""",${MAX},sold\n" a\r\nb\n",-${MAX + 1n},\n\n=1+1 😀\\N,1e3,\n\\.,5.0,pending`,
    ] as const,
    [
      ...['CSV of a spreadsheet', 'animals.csv'],
      `\ufeffid;status;"categoryId";name;;\r\n1;sold;${MAX};"O""Hara, ""A""";;\r\n2;;-${MAX + 1n};" a\r\nb\n";;\r\n;;1000;=1+1 😀\\N;;\r\n;pending;5;\\.;;\r\n`,
      ...['--delimiter', ';'],
    ] as const,
    [
      ...['NDJSON', 'animals.txt'],
      [
        `{"name":"O\\"Hara, \\"A\\"","categoryId":${MAX},"status":"sold","id":9}`,
        `{"name":"x","categoryId":-${MAX + 1n},"name":" a\\r\\nb\\n"}\r\n`,
        '{"name":"=1+1 😀\\\\N","categoryId":1e3,"__proto__":{"status":"sold"}}',
        '{"name":"\\\\.","categoryId":5.0,"status":"pending"}',
      ].join('\n'),
    ] as const,
  ])(
    '%s › adds every animal exactly as it is in the file, in its order',
    async (_, name, content, ...options) => {
      const args = [file(content, name), ...options];
      const ignoredColumns = options.length > 0 ? ['id', '', ''] : [];
      const none = { added: 0, firstId: null, lastId: null };
      expect(await importFile(...args, '--dry-run')).toEqual({ valid: 4, ...none, ignoredColumns });
      expect(await stored()).toEqual([]);
      const added = { added: 4, firstId: 1, lastId: 4 };
      expect(await importFile(...args)).toEqual({ valid: 4, ...added, ignoredColumns });
      expect(await stored()).toEqual([
        row('O"Hara, "A"', MAX, 'sold'),
        row(' a\r\nb\n', -MAX - 1n),
        row('=1+1 😀\\N', 1000),
        row('\\.', 5, 'pending'),
      ]);
      const actions = await database.query('SELECT actor, action, details FROM operator_actions');
      expect(actions).toEqual([{ actor: OPERATOR, action: 'animals import', details: added }]);
    },
  );

  test('reports the first 20 invalid lines by their number in the file, and how many there are', async () => {
    const records = ['"a\r\nb",1,', '', ',2,', 'c,abc,', 'd,1', `${'x'.repeat(256)},5.5,SOLD`];
    const more = Array.from({ length: 30 }, () => 'e,"5 ",gone');
    const line = await rejected(file(HEADER + [...records, ...more].join('\n')));
    expect(line).toMatch(/^Nothing was added\. Invalid lines: 34 of 35; line 5: name is/);
    expect(line).toMatch(NAME);
    expect(line).toMatch(/; line 6: categoryId must be [^;]+; line 7: has 2 cells instead of 3;/);
    expect(line).toMatch(/; line 8: name must .+; categoryId must .+; status must be one of avail/);
    expect(line).toMatch(/; line 24: categoryId [^;]+; status [^;]+; and 14 more$/);
  });

  test('the reasons of NDJSON are those of createPet', async () => {
    const service = await startService({ database, app: true, nowMs: Date.now() });
    const client = new ApiClient(service, (await createOwner(database)).key);
    const bodies = [
      ...['{"name":"a","categoryId":"5"}', '{"name":"a","categoryId":9223372036854775808}'],
      ...['{"Name":"a","categoryId":1}', '{"name":"\\ud800","categoryId":1}', '{}'],
      ...['{"name":"\\u0000","categoryId":null,"status":null}', '{"name":"a",'],
      `{"name":${'['.repeat(40)}${']'.repeat(40)}}`,
    ];
    const line = await rejected(file(`\n${bodies.join('\n')}\n[1]\n`, 'animals.jsonl'));
    for (const [index, body] of bodies.entries()) {
      const { json } = await client.post('/v1/pets', body);
      const reason = json.message.replace(/^The request body |\.$/g, '');
      expect(line).toContain(`; line ${index + 2}: ${reason}; line ${index + 3}: `);
    }
    expect(line).toMatch(/line 10: It must be a JSON object$/);
  });

  test.each<[name: string, content: string | Buffer, line: RegExp, ...options: string[]]>([
    ['no column', 'name;categoryId\n', /must have one column name\. It is: name;categoryId\. Set/],
    ['a required column missing', 'name\na\n', /must have one column categoryId/],
    ['a mapped column missing', HEADER, /must have one column Name/, '--map', 'name=Name'],
    ['a duplicate', 'name,name,categoryId\n', /must have one column name/],
    [
      'another case',
      'name,categoryId,Status\n',
      /one column status\. It is: name,categoryId,Status/,
    ],
    ['an unclosed quote', 'name,categoryId\n"a\r\n",1\n"b,1\n', /line 4 has a quotation mark/],
    [
      'a stray quote',
      'name,categoryId\n\na,x\na"b,1\nc,1\n',
      /^Nothing was added.+ read to its end; line 4 has a quotation mark [^;]+$/,
    ],
    ['a space in the header', 'name,categoryId, status\na,1,sold\n', /one column status\. It is/],
    [
      'a JSON array',
      '[\n{"name":"a","categoryId":1}\n]\n',
      /not supported\. Write one JSON object per line/,
    ],
    [
      'a long line',
      `name,categoryId\na,1\n${'x'.repeat(2 ** 21)}`,
      /line 3 is longer than 1048576/,
    ],
    ['a long line of JSON', `{"name":"${'x'.repeat(2 ** 21)}`, /line 1 is longer than 1048576/],
    ['a second byte order mark', `\ufeff\ufeff${HEADER}`, /must have one column name\. It is:/],
    ['a long record', `name,categoryId\n"${'x\n'.repeat(2 ** 20)}",1`, /line 2 is longer than/],
    ['Latin-1', Buffer.from('name,categoryId\nZoë,1\n', 'latin1'), /line 2 is not text in UTF-8/],
    ['NUL', 'name,categoryId\na\0,1\n', /line 2 is not text in UTF-8/],
    ['UTF-16', Buffer.from('\ufeffname,categoryId\n', 'utf16le'), /line 1 is not text in UTF-8/],
    ['UTF-16 without a mark', Buffer.from('{"name":1}', 'utf16le'), /line 1 is not text in UTF-8/],
  ])('a file with %s is an error', async (_name, content, line, ...options) => {
    expect(await rejected(file(content), ...options)).toMatch(line);
  });

  test.each(['', HEADER, `${HEADER},,\n`, '\ufeff', '\n\n'])(
    '%j › exits with 1, because a producer may have failed',
    async (content) => {
      const line = 'Nothing was added. There are no animals in the input.';
      expect(await rejected(file(content))).toBe(line);
      expect(await rejected(file(content), '--dry-run')).toBe(line);
    },
  );

  test.each<[name: string, content: string, ...options: string[]]>([
    ['a first line sep=;', `\ufeffsep=;\r\nname;categoryId\r\nFrank;1\r\nb,c;2\r\n`],
    [
      'one that an option overrides',
      'sep=,\nname;categoryId\nFrank;1\nb,c;2\n',
      '--delimiter',
      ';',
    ],
    [
      'rows of only separators',
      'name,categoryId,\r\n,,\r\nFrank,1,\r\n , \t,\r\n"b,c",2,\r\n,,\r\n',
    ],
  ])('reads what spreadsheets write: %s', async (_name, content, ...options) => {
    await importFile(file(content), ...options);
    expect(await stored()).toEqual([row('Frank'), row('b,c', 2)]);
    const [first = '', ...more] = content.split('\n');
    const wrong = [first, ...more, content.includes(';') ? ';3\n' : ',3,\n'].join('\n');
    await database.query('TRUNCATE pets, operator_actions RESTART IDENTITY CASCADE');
    const line = wrong.trimEnd().split('\n').length;
    expect(await rejected(file(wrong), ...options)).toContain(
      `Invalid lines: 1 of 3; line ${line}: name`,
    );
  });

  test.each([
    ['nothing.csv', 1, /^The file nothing\.csv cannot be read \(ENOENT\)\.$/],
    ['nothing.csv --map name', 2, /--map.*such as name=Name/],
    ['nothing.csv --map id=Id', 2, /--map.*such as name=Name/],
    ['nothing.csv --delimiter ab', 2, /--delimiter.*Allowed choices are/],
  ] as const)('import %s › exits with %i', async (args, code, line) => {
    expect(await cli.failure(code, 'animals', 'import', ...args.split(' '))).toMatch(line);
  });

  test('--map reads other columns, and the first one that is not empty', async () => {
    const map = ['--map', 'name=Name', '--map', 'name=Nr=1', '--map', 'categoryId=type'];
    const csv = file('Nr=1,Name,type,status\nA1, ,4,\nA2,Bo,5,sold\n');
    expect(await importFile(csv, ...map)).toMatchObject({ added: 2, ignoredColumns: [] });
    const lines = ['{"Nr=1":"A1","Name":null,"type":4}', '{"Name":"Bo","type":5,"status":"sold"}'];
    await importFile(file(lines.join('\n'), 'animals.ndjson'), ...map);
    const animals = [row('A1', 4), row('Bo', 5, 'sold')];
    expect(await stored()).toEqual([...animals, ...animals]);
  });

  test('records of a shelter, by the documented command', async () => {
    const [, documented = ''] = /pets (animals import -.+) < outcomes\.csv/.exec(
      readFileSync(join(__dirname, '../../docs/operations.md'), 'utf8'),
    )!;
    const records = [
      '"1","A746874","Cat","Dog","",2',
      '"2","A716330","Dog","White","Frank",1',
      '"3","Cat","Dog","Black","Dog",1',
    ];
    const path = file(
      `"1","animal_id","animal_type","color","name",category\n${records.join('\n')}`,
    );
    const { code, output } = await shell(`$PETS ${documented} --json < '${path}'`);
    expect({ code, ...JSON.parse(output) }).toMatchObject({ code: 0, added: 3 });
    expect(await stored()).toEqual([row('A746874', 2), row('Frank'), row('Dog')]);
  }, 60_000);
});

describe('animals export', () => {
  const NAMES = [
    ...['"', ',', 'a\r\nb\rc\nd', '=1+1', '😀 Zoë', '\\.', '\\N', ' a\t', 'null'],
    ...['\u0001\u0002\u2028', 'x'.repeat(255)],
  ];
  const fill = () =>
    database.query(
      `INSERT INTO pets (name, category_id, status)
       SELECT name, CASE number % 2 WHEN 0 THEN ${MAX} ELSE -${MAX} - 1 END, (ARRAY['sold', 'pending', 'available'])[1 + number % 3]
         FROM unnest($1::text[]) WITH ORDINALITY AS row (name, number)`,
      [NAMES],
    );

  test.each(['csv', 'ndjson'])(
    '%s › `import` into an empty store adds the same animals',
    async (format) => {
      await fill();
      await database.query('DELETE FROM pets WHERE id = 2');
      const exported = await cli.run('animals', 'export', '--format', format);
      expect(exported).toMatchObject({ code: 0, stderr: expect.stringMatching(DATABASE_LINE) });
      await empty.query('TRUNCATE pets CASCADE');
      const other = new Cli({ DATABASE_URL: empty.url }, { app: true });
      const path = file(exported.stdout, `animals.${format}`);
      const { added } = await other.json('animals', 'import', path);
      expect([added, await stored(empty)]).toEqual([NAMES.length - 1, await stored()]);
      const again = await other.run('animals', 'export', '--format', format);
      expect(again.stdout).toBe(exported.stdout);
    },
  );

  test('--json is one array, and --status selects', async () => {
    expect((await cli.run('animals', 'export', '--json')).json).toEqual([]);
    expect((await cli.run('animals', 'export')).stdout).toBe(`${EXPORTED_COLUMNS}\n`);
    await fill();
    const { stdout, json } = await cli.run('animals', 'export', '--json');
    expect(json.map(({ name }: { name: string }) => name)).toEqual(NAMES);
    expect(stdout).toContain(`"categoryId":${MAX},`);
    const sold = await cli.run('animals', 'export', '--json', '--status', 'sold');
    expect(sold.json.map(({ name }: { name: string }) => name)).toEqual([
      'a\r\nb\rc\nd',
      '\\.',
      'null',
    ]);
    expect(await cli.failure(2, 'animals', 'export', '--format', 'xml')).toMatch(/csv, ndjson/);
  });

  test('a result that cannot be written is a failure, and a new API key is then unknown', async () => {
    const issue = '$PETS keys issue --owner full --plan free';
    expect(await shell(`${issue} 2>&1 >/dev/full`)).toMatchObject({
      code: 1,
      output: expect.stringMatching(
        /\nThe new API key \d+ cannot be printed \(ENOSPC[^\n]+\)\. Revoke it, because it is lost\.\n$/,
      ),
    });
  });

  test.each(['\u009b2J', '\u202e'])(
    'list --json escapes %j, which a terminal would interpret',
    async (name) => {
      await database.query("INSERT INTO pets (name, category_id, status) VALUES ($1, 1, 'sold')", [
        name,
      ]);
      const { output } = await shell('$PETS animals list --json');
      expect(output).not.toContain(name);
      expect(JSON.parse(output)).toMatchObject([{ name }]);
    },
  );

  test('a reader that stops ends the export quietly', async () => {
    await database.query(
      `INSERT INTO pets (name, category_id, status) SELECT repeat('x', 200), n, 'sold' FROM generate_series(1, 50000) n`,
    );
    expect(await shell('$PETS animals export | head -1')).toEqual({
      code: 0,
      output: `${EXPORTED_COLUMNS}\n`,
    });
    expect((await shell('$PETS animals count >/dev/full')).code).toBe(1);
    expect(await shell('$PETS animals count | true')).toEqual({ code: 0, output: '' });
    const active = `SELECT FROM pg_stat_activity WHERE query LIKE 'COPY%' AND state = 'active'`;
    await until(async () => (await database.query(active)).length === 0);
  }, 60_000);
});
