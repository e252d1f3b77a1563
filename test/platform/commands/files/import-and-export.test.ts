import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { useDatabase } from '../../../harness/database/database.js';
import { createOwner } from '../../../harness/database/factories.js';
import { ApiClient } from '../../../harness/http/client.js';
import { Cli, DATABASE_LINE, OPERATOR } from '../../../harness/processes/command.js';
import { startService } from '../../../harness/service/service.js';

const MAX = 2n ** 63n - 1n;
const HEADER = 'name,categoryId,status\n';
const NAME = /name is required and must be a string of 1 to 255 characters/;

const folder = mkdtempSync(join(tmpdir(), 'items-'));
const database = useDatabase();
const empty = useDatabase();
const cli = Cli.on(database);
const path = (name: string) => join(folder, name);

function file(content: string | Buffer, name = 'items.csv'): string {
  writeFileSync(path(name), content);
  return path(name);
}
const importFile = (...args: string[]) => cli.json('items', 'import', ...args);
const stored = (from = database) =>
  from.query('SELECT name, category_id, status FROM test_items ORDER BY id');
const row = (name: string, category_id: bigint | number = 1, status = 'available') => ({
  name,
  category_id: String(category_id),
  status,
});
/** Returns the lines about a file that adds nothing, after the one that names the database. */
async function rejected(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await cli.run('items', 'import', ...args);
  expect({ code, stdout, stderr }).toMatchObject({ code: 1, stdout: '' });
  const line = stderr.replace(/^Database: .+\n/, '').trim();
  const records = await database.query('SELECT FROM operator_actions');
  expect([await stored(), records]).toEqual([[], []]);
  return line;
}
beforeEach(() => database.empty('test_items', 'operator_actions'));
afterAll(() => rmSync(folder, { recursive: true }));

describe('items import', () => {
  test.each<[format: string, name: string, content: string, ...options: string[]]>([
    [
      'CSV',
      'items.csv',
      `${HEADER}"O""Hara, ""A""",${MAX},sold\n" a\r\nb\n",-${MAX + 1n},\n\n=1+1 😀\\N,1e3,\n\\.,5.0,pending`,
    ],
    [
      'CSV of a spreadsheet',
      'items.csv',
      `\ufeffid;status;"categoryId";name;;\r\n1;sold;${MAX};"O""Hara, ""A""";;\r\n2;;-${MAX + 1n};" a\r\nb\n";;\r\n;;1000;=1+1 😀\\N;;\r\n;pending;5;\\.;;\r\n`,
      '--delimiter',
      ';',
    ],
    [
      'NDJSON',
      'items.txt',
      [
        `{"name":"O\\"Hara, \\"A\\"","categoryId":${MAX},"status":"sold","id":9}`,
        `{"name":"x","categoryId":-${MAX + 1n},"name":" a\\r\\nb\\n"}\r\n`,
        '{"name":"=1+1 😀\\\\N","categoryId":1e3,"__proto__":{"status":"sold"}}',
        '{"name":"\\\\.","categoryId":5.0,"status":"pending"}',
      ].join('\n'),
    ],
  ])(
    '%s › adds every item exactly as it is in the file, in its order',
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
      const details = { ...added, sha256: expect.stringMatching(/^[0-9a-f]{64}$/) };
      expect(actions).toEqual([{ actor: OPERATOR, action: 'items import', details }]);
    },
  );

  test('reports the first 20 invalid lines by their number in the file, and how many there are', async () => {
    const records = ['"a\r\nb",1,', '', ',2,', 'c,abc,', 'd,1', `${'x'.repeat(256)},5.5,SO LD`];
    const more = Array.from({ length: 30 }, () => 'e,"5 ",gone');
    const line = await rejected(file(HEADER + [...records, ...more].join('\n')));
    expect(line).toMatch(/^Nothing was added\. Invalid lines: 34 of 35\nline 5: name is/);
    expect(line).toMatch(NAME);
    expect(line).toMatch(
      /\nline 6: categoryId: "abc" is not an integer .+\nline 7: has 2 cells instead of 3\n/,
    );
    expect(line).toMatch(
      /\nline 8: name: "x{100}" is not .+; categoryId: 5\.5 is not .+; status: "SO LD" is not one of avail/,
    );
    expect(line).toMatch(/\nline 24: categoryId: "5 " [^;]+; status: "gone" [^;]+\nand 14 more$/);
    expect(line).not.toContain('JSON');
  });

  test('the reasons of NDJSON are those of createItem', async () => {
    const service = await startService({ database, nowMs: Date.now() });
    const client = new ApiClient(service, (await createOwner(database)).key);
    const bodies = [
      '{"name":"a","categoryId":"5"}',
      '{"name":"a","categoryId":9223372036854775808}',
      '{"Name":"a","categoryId":1}',
      '{"name":"\\ud800","categoryId":1}',
      '{}',
      '{"name":"\\u0000","categoryId":null,"status":null}',
      '{"name":"a",',
      `{"name":${'['.repeat(40)}${']'.repeat(40)}}`,
    ];
    const line = await rejected(file(`\n${bodies.join('\n')}\n[1]\n`, 'items.jsonl'));
    for (const [index, body] of bodies.entries()) {
      const { json } = await client.post('/v1/items', body);
      const reason =
        json.code === 'malformed_json'
          ? json.message.replace('The request body', 'It')
          : json.message.replace(/\.$/, '');
      expect(line).toContain(`\nline ${index + 2}: ${reason}\nline ${index + 3}: `);
    }
    expect(line).toMatch(/\nline 10: It must be a JSON object\.$/);
  });

  test.each([
    ['--map', 'Tierart=categoryId'],
    ['--values', 'Tierart:Hund=1'],
  ])('%s %s › names the properties', async (...option) => {
    expect(await cli.failure(2, 'items', 'import', '-', ...option)).toContain(
      'Expected a property (name, categoryId, status) and ',
    );
  });

  test.each<[name: string, content: string | Buffer, line: RegExp, ...options: string[]]>([
    [
      'no column',
      'Nr,Name,Art\n',
      /^No column "name"\. The file has: Nr, Name, Art\. Map it: --map name=Name$/,
    ],
    [
      'another delimiter and invalid rows',
      '"name";"categoryId"\na;x\n',
      /: 1 of 1\nline 2: categoryId: "x" is not an integer from/,
    ],
    ['another delimiter than the option', HEADER, /has: name,categoryId/, '--delimiter', ';'],
    [
      'a required column missing',
      'name\na\n',
      /^No column "categoryId"\. The file has: name\. Map it: --map categoryId=COLUMN$/,
    ],
    ['a mapped column missing', HEADER, /^No column "Name"/, '--map', 'name=Name'],
    ['a duplicate', 'name,name,categoryId\n', /^Several columns "name"\./],
    ['an unclosed quote', 'name,categoryId\n"a\r\n",1\n"b,1\n', /line 4 has a quotation mark/],
    [
      'a stray quote',
      'name,categoryId\n\na,x\na"b,1\nc,1\n',
      /^Nothing was added.+ read to its end\nline 4 has a quotation mark [^\n]+$/,
    ],
    [
      'a JSON array of objects with several lines',
      '[\n  {\n    "name":"a",\n    "categoryId":1\n  }\n]\n',
      /^Each object of a JSON array must be on a line of its own\.$/,
    ],
    [
      'a long line',
      `name,categoryId\na,1\n${'x'.repeat(2 ** 21)}`,
      /line 3 is longer than 1048576/,
    ],
    ['a long line of JSON', `{"name":"${'x'.repeat(2 ** 21)}`, /line 1 is longer than 1048576/],
    ['a second byte order mark', `\ufeff\ufeff${HEADER}`, /^No column "name"/],
    ['a long record', `name,categoryId\n"${'x\n'.repeat(2 ** 20)}",1`, /line 2 is longer than/],
    [
      'Windows-1252 and invalid rows',
      Buffer.from('name,categoryId\na,x\nZoë,1\n', 'latin1'),
      /^Line 3 is not text in UTF-8\. Save the file in a spreadsheet as "CSV UTF-8", or set .+ --encoding windows-1252\./,
    ],
    ['NUL', 'name,categoryId\na\0,1\n', /^Line 2 is not text in UTF-8/],
    ['UTF-16', Buffer.from('\ufeffname;categoryId\n', 'utf16le'), /^Line 1 .+ "CSV UTF-8"/],
    ['UTF-16 without a mark', Buffer.from('{"name":1}', 'utf16le'), /^Line 1 is not text in UTF-8/],
  ])('a file with %s is an error', async (_name, content, line, ...options) => {
    expect(await rejected(file(content), ...options)).toMatch(line);
  });

  test('a CSV is reported with the names and values of the file', async () => {
    const map = ['--map', 'name=Name', '--map', 'categoryId=Tierart', '--map', 'categoryId=Art'];
    const path = file('Name;Tierart;Art;status\n;Hund;;\na;;b;gone\n');
    expect(await rejected(path, ...map)).toMatch(
      /line 2: Name is required and .+; Tierart or Art: "Hund" is not an integer from .+\nline 3: .+: "b" is not an integer .+; status: "gone" is not one of/,
    );
  });

  test.each(['Status', ' status'])(
    'an optional column with the name "%s" is proposed, and not read',
    async (name) => {
      const path = file(`name,categoryId,${name}\na,1,sold\n`);
      const { code, stderr } = await cli.run('items', 'import', path);
      expect([code, stderr]).toEqual([0, expect.stringContaining(`set --map status=${name}.\n`)]);
      expect(await stored()).toEqual([row('a')]);
    },
  );

  test.each([
    ['windows-1252', Buffer.from('name;categoryId\r\nJ\xf6rg \x80;1\r\n', 'latin1')],
    ['ISO-8859-1', Buffer.from('name;categoryId\r\nJ\xf6rg \x80;1\r\n', 'latin1')],
    ['utf-16le', Buffer.from('\ufeffname\tcategoryId\r\nJörg €\t1\r\n', 'utf16le')],
    ['utf-8', Buffer.from('\ufeffname,categoryId\nJörg €,1\n')],
  ])('--encoding %s reads what other programs save', async (encoding, content) => {
    await importFile(file(content), '--encoding', encoding);
    expect(await stored()).toEqual([row('Jörg €')]);
  });

  test('a file of another encoding than --encoding, and an unknown one, are errors', async () => {
    const wrong = file(Buffer.from('name,categoryId\n\x81\n', 'latin1'));
    expect(await cli.failure(1, 'items', 'import', wrong, '--encoding', 'shift_jis')).toBe(
      'The file is not text in shift_jis. Nothing was stored.',
    );
    expect(await cli.failure(2, 'items', 'import', wrong, '--encoding', 'ansi-x')).toMatch(
      /Expected an encoding, such as windows-1252/,
    );
  });

  test.each(['', HEADER, `${HEADER},,\n`, '\ufeff', '\n\n'])(
    '%j › exits with 1, because a producer may have failed',
    async (content) => {
      const line = 'Nothing was added. There are no items in the input.';
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
    await database.empty('test_items', 'operator_actions');
    const line = wrong.trimEnd().split('\n').length;
    expect(await rejected(file(wrong), ...options)).toContain(
      `Invalid lines: 1 of 3\nline ${line}: name`,
    );
  });

  test.each([
    ['nothing.csv', 1, /^The file "nothing\.csv" does not exist\.$/],
    ['/', 1, /^The file "\/" is a directory\.$/],
    ['nothing.csv --map name', 2, /--map.*such as name=Name/],
    ['nothing.csv --map id=Id', 2, /--map.*such as name=Name/],
    ['nothing.csv --delimiter ab', 2, /--delimiter.*Allowed choices are/],
    ['nothing.csv --values name', 2, /--values.*such as name:Old=new,Other=new/],
    ['nothing.csv --values id:Dog=1', 2, /--values.*such as name:Old/],
  ] as const)('import %s › exits with %i', async (args, code, line) => {
    expect(await cli.failure(code, 'items', 'import', ...args.split(' '))).toMatch(line);
  });

  test('--map reads other columns, and the first one that is not empty', async () => {
    const map = ['--map', 'name=Name', '--map', 'name=Nr=1', '--map', 'categoryId=type'];
    const csv = file('Nr=1,Name,type,status\nA1, ,4,\nA2,Bo,5,sold\n');
    expect(await importFile(csv, ...map)).toMatchObject({ added: 2, ignoredColumns: [] });
    const lines = ['{"Nr=1":"A1","Name":null,"type":4}', '{"Name":"Bo","type":5,"status":"sold"}'];
    await importFile(file(lines.join('\n'), 'items.ndjson'), ...map, '--again');
    const items = [row('A1', 4), row('Bo', 5, 'sold')];
    expect(await stored()).toEqual([...items, ...items]);
  });

  test.each([
    ['csv', 'name,categoryId,status\nDog, Dog ,SOLD\nCat,"Cat, small", Available \n'],
    [
      'ndjson',
      '{"name":"Dog","categoryId":"Dog","status":"SOLD"}\n{"name":"Cat","categoryId":"Cat, small","status":" Available "}',
    ],
    [
      'json',
      '[\n{"name":"Dog","categoryId":"Dog","status":"Sold"},\n{"name":"Cat","categoryId":"Cat, small"}\n]\n',
    ],
  ])(
    '%s › --values maps the texts of one property, and the case of a status does not matter',
    async (format, text) => {
      const values = ['--values', 'categoryId:Dog=1,Cat, small=2'];
      await importFile(file(text, `items.${format}`), ...values);
      expect(await stored()).toEqual([row('Dog', 1, 'sold'), row('Cat', 2)]);
      await database.empty('test_items', 'operator_actions');
      const line = await rejected(
        path(`items.${format}`),
        '--values',
        'categoryId:Dog=1',
        '--values',
        'categoryId:Bird=3',
      );
      const number = { csv: 3, ndjson: 2, json: 3 }[format];
      expect(line).toContain(
        `Invalid lines: 1 of 2\nline ${number}: categoryId is "Cat, small", which --values does not list`,
      );
    },
  );

  test('the same items again add nothing without --again, whatever the form of the file', async () => {
    await importFile(file(`${HEADER}Frank,1,\nBo,2,sold\n`));
    const before = await stored();
    const others = [
      file('status;name;categoryId\r\n;Frank;1\r\nSOLD;Bo;2\r\n', 'again.csv'),
      file(
        '{"categoryId":1,"name":"Frank"}\n{"name":"Bo","categoryId":2,"status":"sold"}\n',
        'again.ndjson',
      ),
    ];
    for (const [index, name] of others.entries()) {
      const options = index === 0 ? ['--delimiter', ';'] : ['--dry-run'];
      expect(await cli.failure(1, 'items', 'import', name, ...options)).toMatch(
        new RegExp(
          `^Nothing was added\\. ${OPERATOR} imported the same items at \\d{4}-[\\dT:.-]+Z, with the ids 1 to 2\\. To add them again, set --again\\.$`,
        ),
      );
    }
    expect(await stored()).toEqual(before);
    expect(await importFile(path('again.ndjson'), '--again')).toMatchObject({ firstId: 3 });
    expect(await importFile(file(`${HEADER}Bo,2,sold\nFrank,1,\n`))).toMatchObject({ added: 2 });
  });

  test('the same items again add nothing without --again after they were removed, and the error says so', async () => {
    const input = file(`${HEADER}Frank,1,\nBo,2,sold\n`);
    await importFile(input);
    const refusal = () => cli.failure(1, 'items', 'import', input);
    await database.query('DELETE FROM test_items WHERE id = 1');
    expect(await refusal()).toMatch(/, with the ids 1 to 2\. To add them again, set --again\.$/);
    await database.query('DELETE FROM test_items WHERE id = 2');
    expect(await refusal()).toMatch(
      /, with the ids 1 to 2\. They have been removed since\. To add them again, set --again\.$/,
    );
    expect(await stored()).toEqual([]);
    expect(await importFile(input, '--again')).toMatchObject({ added: 2 });
    await database.query('DELETE FROM test_items WHERE id = 4');
    expect(await refusal()).toMatch(/, with the ids 3 to 4\. To add them again, set --again\.$/);
  });

  test('an import is recognized by the values of its rows, also of an earlier release', async () => {
    await importFile(file(`${HEADER}"Zoë ""Z""",${MAX},\nBo,2.0,Sold\n`));
    const text = `[["categoryId",${MAX}],["name","Zoë \\"Z\\""],["status","available"]]\n[["categoryId",2],["name","Bo"],["status","sold"]]\n`;
    const sha256 = createHash('sha256').update(text).digest('hex');
    expect(
      await database.query("SELECT details ->> 'sha256' AS sha256 FROM operator_actions"),
    ).toEqual([{ sha256 }]);
  });
});

describe('items export', () => {
  const NAMES = [
    '"',
    ',',
    'a\r\nb\rc\nd',
    '=1+1',
    '😀 Zoë',
    '\\.',
    '\\N',
    ' a\t',
    'null',
    '\u0001\u0002\u2028',
    'x'.repeat(255),
  ];
  const fill = () =>
    database.query(
      `INSERT INTO test_items (name, category_id, status)
       SELECT name, CASE number % 2 WHEN 0 THEN ${MAX} ELSE -${MAX} - 1 END, (ARRAY['sold', 'pending', 'available'])[1 + number % 3]
         FROM unnest($1::text[]) WITH ORDINALITY AS row (name, number)`,
      [NAMES],
    );

  test.each(['csv', 'ndjson'])(
    '%s › `import` into an empty store adds the same items',
    async (format) => {
      await fill();
      await database.query('DELETE FROM test_items WHERE id = 2');
      const exported = await cli.run('items', 'export', '--format', format);
      expect(exported).toMatchObject({ code: 0, stderr: expect.stringMatching(DATABASE_LINE) });
      await empty.empty('test_items', 'operator_actions');
      const other = new Cli({ DATABASE_URL: empty.url });
      const path = file(exported.stdout, `items.${format}`);
      const { added } = await other.json('items', 'import', path);
      expect([added, await stored(empty)]).toEqual([NAMES.length - 1, await stored()]);
      const again = await other.run('items', 'export', '--format', format);
      expect(again.stdout).toBe(exported.stdout);
    },
  );

  test.each(['csv', 'ndjson', 'json'])(
    '%s with ids › `update` changes what differs, in one transaction, and reports the rest',
    async (format) => {
      await fill();
      const { stdout } = await cli.run('items', 'export', '--ids', '--format', format);
      const update = (text: string, ...options: string[]) =>
        cli.json('items', 'update', file(text, `items.${format}`), ...options);
      const result = {
        changed: 0,
        same: 11,
        missing: 0,
        missingIds: [],
        changes: [],
        ignoredColumns: [],
      };
      expect(await update(stdout)).toEqual(result);
      expect(await database.query('SELECT FROM operator_actions')).toEqual([]);
      await database.query('DELETE FROM test_items WHERE id = 2');
      const before = await stored();
      const corrected = stdout.replace('=1+1', 'Frank').replace('x'.repeat(255), 'Bo');
      const changes = [
        { id: 4, changes: { name: ['=1+1', 'Frank'] } },
        { id: 11, changes: { name: ['x'.repeat(255), 'Bo'] } },
      ];
      const changed = { ...result, changed: 2, same: 8, missing: 1, missingIds: [2], changes };
      expect(await update(corrected, '--dry-run')).toEqual(changed);
      expect(await stored()).toEqual(before);
      const shown = await cli.run('items', 'update', path(`items.${format}`), '--dry-run');
      expect(shown.stderr).toMatch(/\nDry run: nothing was changed\.\n$/);
      expect(shown.stdout).toMatch(
        /\nchanges:\nid {2}property {2}before +after\n4 {3}name {6}=1\+1 +Frank\n11 {2}name +x{23}… +Bo\n$/,
      );
      expect(await update(corrected)).toEqual(changed);
      const names = before.map(({ name }) => name);
      expect((await stored()).map(({ name }) => name)).toEqual(
        names.map((name) => ({ '=1+1': 'Frank', [NAMES[10]!]: 'Bo' })[name as string] ?? name),
      );
      expect(await database.query('SELECT action, details FROM operator_actions')).toEqual([
        { action: 'items update', details: { ids: [4, 11], changed: ['name'] } },
      ]);
    },
  );

  test('update › the audit trail has the properties that changed in any item, and says so in words', async () => {
    await fill();
    await cli.json(
      'items',
      'update',
      file('{"id":1,"status":"sold"}\n{"id":2,"name":"Bo"}\n', 'changes.ndjson'),
    );
    const [{ details }] = await cli.json('audit', 'list');
    expect(details).toEqual({ ids: [1, 2], changed: ['name', 'status'] });
    expect((await cli.run('audit', 'list')).stdout).toMatch(
      / updated the name, status of 2 items\n$/,
    );
  });

  test('update › leaves a missing column as it is, and reads --values, --map and the case of a status', async () => {
    await fill();
    const before = await stored();
    const csv = file('id;Status;type\n1; Pending ;Dog\n2;sold;Dog\n');
    const options = [
      '--map',
      'status=Status',
      '--map',
      'categoryId=type',
      '--values',
      'categoryId:Dog=5',
    ];
    const { changed, missing } = await cli.json(
      'items',
      'update',
      csv,
      ...options,
      '--delimiter',
      ';',
    );
    expect([changed, missing]).toEqual([2, 0]);
    expect(await stored()).toEqual([
      { ...before[0], status: 'pending', category_id: '5' },
      { ...before[1], status: 'sold', category_id: '5' },
      ...before.slice(2),
    ]);
  });

  test.each([
    [
      'id,name\n1,Frank\n2, \nx,Bo\n1,Bo\n99,\n,Bo\n3,Bo\n',
      /^Nothing was changed\. Invalid lines: 5 of 7\nline 3: name must .+\nline 4: id: "x" is not an integer\nline 5: the id is also in line 2\nline 6: name must .+\nline 7: id is required and must be an integer$/,
    ],
    ['name\nFrank\n', /^No column "id"\. The file has: name/],
    ['id,name\n', /^Nothing was changed\. There are no items in the input\.$/],
    [
      '{"id":1,"name":null,"categoryId":"2"}\n[1]\n',
      /\nline 1: name must .+; categoryId must .+ JSON number .+\nline 2: It must be a JSON object\.$/,
    ],
  ])('update of %j › exits with 1 and changes nothing', async (text, lines) => {
    await fill();
    const before = await stored();
    const { code, stderr } = await cli.run('items', 'update', file(text));
    expect([code, stderr.replace(/^Database: .+\n/, '').trim()]).toEqual([
      1,
      expect.stringMatching(lines),
    ]);
    expect(await stored()).toEqual(before);
    expect(await database.query('SELECT FROM operator_actions')).toEqual([]);
  });

  test('update › a locked item stops it within a second, and it holds no lock then', async () => {
    await fill();
    const holder = new Client({ connectionString: database.url });
    await holder.connect();
    await holder.query('BEGIN; SELECT FROM test_items WHERE id = 2 FOR UPDATE');
    const line = await cli.failure(1, 'items', 'update', file('id,name\n1,a\n2,b\n'));
    expect(line).toMatch(/^Another transaction .+ Nothing was changed\. Run the command again\.$/);
    await database.query('SELECT FROM test_items WHERE id = 1 FOR UPDATE NOWAIT');
    await holder.end();
  });

  test('--excel › has a byte order mark and semicolons, which import and update read', async () => {
    await fill();
    const before = await stored();
    const { stdout } = await cli.run('items', 'export', '--ids', '--excel');
    expect(stdout).toMatch(/^\ufeffid;name;categoryId;status;revision\n1;""/);
    expect(await cli.json('items', 'update', file(stdout))).toMatchObject({ same: NAMES.length });
    await database.empty('test_items');
    expect(await importFile(path('items.csv'))).toMatchObject({ added: NAMES.length });
    expect(await stored()).toEqual(before);
    for (const option of ['--json', '--format=ndjson']) {
      expect(await cli.failure(2, 'items', 'export', '--excel', option)).toMatch(/requires CSV$/);
    }
  });

  test('--json is one array, and --status selects', async () => {
    expect((await cli.run('items', 'export', '--json')).json).toEqual([]);
    expect((await cli.run('items', 'export')).stdout).toBe(`name,categoryId,status\n`);
    await fill();
    const { stdout, json } = await cli.run('items', 'export', '--json');
    expect(json.map(({ name }: { name: string }) => name)).toEqual(NAMES);
    expect(stdout).toContain(`"categoryId":${MAX},`);
    const sold = await cli.run('items', 'export', '--json', '--status', 'sold');
    expect(sold.json.map(({ name }: { name: string }) => name)).toEqual([
      'a\r\nb\rc\nd',
      '\\.',
      'null',
    ]);
    expect(await cli.failure(2, 'items', 'export', '--format', 'xml')).toMatch(/csv, ndjson/);
  });
});
