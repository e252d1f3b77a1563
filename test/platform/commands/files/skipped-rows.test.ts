import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { useDatabase } from '../../../harness/database/database.js';
import { Cli } from '../../../harness/processes/command.js';

const folder = mkdtempSync(join(tmpdir(), 'skipped-'));
const database = useDatabase();
const cli = Cli.on(database);
const path = (name: string) => join(folder, name);
afterAll(() => rmSync(folder, { recursive: true }));

const names = async () =>
  (await database.query('SELECT name FROM test_items ORDER BY id')).map(({ name }) => name);

beforeEach(() => database.empty('test_items', 'operator_actions'));

function importFile(name: string, content: string, ...options: string[]) {
  writeFileSync(path(name), content);
  return cli.run('items', 'import', path(name), '--json', ...options);
}

test.each([
  [
    'in.csv',
    'Nr;name;categoryId\n1;a;1\n2;"b;c";x\n3;d\n4;e;2\n',
    /^Nr;name;categoryId;reason\n2;"b;c";x;"categoryId: ""x"" is not an integer.*"\n3;d;;has 2 cells instead of 3\n$/,
  ],
  [
    'in.ndjson',
    '{"name":"a","categoryId":1}\n{"name":"b","categoryId":9223372036854775808}\n{}\n{"name":\n{"name":"e","categoryId":2}\n',
    /^\{"name":"b","categoryId":9223372036854775808,"reason":".+"\}\n\{"reason":".+"\}\n\{"line":"\{\\"name\\":","reason":".+"\}\n$/,
  ],
])(
  '%s › adds the valid rows and writes the others with their reasons',
  async (name, text, lines) => {
    const rejects = path(`rejects-${name}`);
    const options = ['--skip-invalid', '--rejects', rejects];
    expect(await importFile(name, text, ...options, '--dry-run')).toMatchObject({ code: 0 });
    expect(existsSync(rejects)).toBe(false);
    expect(await importFile(name, text, ...options)).toMatchObject({ code: 0 });
    expect(await names()).toEqual(['a', 'e']);
    const written = readFileSync(rejects, 'utf8');
    expect(written).toMatch(lines);

    const again = await importFile(name, text, ...options, '--again');
    expect(again).toMatchObject({ code: 1 });
    expect(again.stderr).toContain('Nothing was added.');
    expect(again.stderr).toContain('already exists');
    expect(await names()).toEqual(['a', 'e']);
    expect(readFileSync(rejects, 'utf8')).toBe(written);
  },
);

test('--dry-run needs no --rejects, because it writes no file', async () => {
  const content = 'name,categoryId\na,1\nb,x\n';
  const { stdout } = await importFile('in.csv', content, '--skip-invalid', '--dry-run');
  expect(JSON.parse(stdout)).toMatchObject({ valid: 1, rejected: 1, added: 0 });
  expect(await names()).toEqual([]);
});

test.each([[['--skip-invalid']], [['--rejects', path('alone.csv')]]])(
  '%j alone is a usage error',
  async (options) => {
    const { code, stderr } = await importFile('x.csv', 'name,categoryId\na,1\n', ...options);
    expect(code).not.toBe(0);
    expect(stderr).toContain('--skip-invalid and --rejects require each other');
    expect(await names()).toEqual([]);
  },
);
