import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { useStore } from '../harness/http/store.js';
import { Cli } from '../harness/processes/command.js';
import { UNBOUNDED } from '../harness/service/service.js';
import { newAnimal } from '../harness/database/animals.js';

// 10,000 records of a shelter go out to a spreadsheet and come back, while the service changes other animals.
const RECORDS = join(__dirname, '../../../shared/data/austin-animal-center-outcomes.csv');
const IMPORT_OPTIONS = [
  ...['--map', 'name=name', '--map', 'name=animal_id', '--map', 'categoryId=animal_type'],
  ...['--values', 'categoryId:Dog=1,Cat=2,Bird=3,Livestock=4,Other=5'],
  ...['--map', 'status=outcome_type', '--values', 'status:Transfer=available'],
  ...['--values', 'status:Adoption=sold,Return to Owner=sold,Rto-Adopt=sold,Missing=pending'],
  ...['--values', 'status:Relocate=pending,Died=sold,Euthanasia=sold,Disposal=sold'],
];

const hasRecords = existsSync(RECORDS);
if (!hasRecords) process.stderr.write(`Skipped: needs ${RECORDS}.\n`);

/** The character of each byte. With `stream`, Node.js 20 does not decode ISO-8859-1 instead. */
const WINDOWS_1252 = new TextDecoder('windows-1252').decode(
  Uint8Array.from({ length: 256 }, (_, byte) => byte),
  { stream: true },
);

/** Saves rows as a spreadsheet of a German Windows does: `;` between columns, CRLF and windows-1252. */
function saveAsSpreadsheet(path: string, rows: readonly (readonly string[])[]): void {
  const cell = (value: string) =>
    /[;"\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
  const text = rows.map((row) => `${row.map(cell).join(';')}\r\n`).join('');
  const bytes = Array.from(text, (character) => WINDOWS_1252.indexOf(character));
  expect(bytes).not.toContain(-1);
  writeFileSync(path, Uint8Array.from(bytes));
}

(hasRecords ? describe : describe.skip)('10,000 records in a spreadsheet', () => {
  const folder = mkdtempSync(join(tmpdir(), 'spreadsheet-'));
  const path = join(folder, 'animals.csv');
  const store = useStore({ app: true, env: UNBOUNDED });
  const cli = Cli.on(store.database, { app: true });
  afterAll(() => rmSync(folder, { recursive: true }));

  type Row = Record<'id' | 'name' | 'category_id' | 'status', string>;
  const stored = () =>
    store.query<Row>('SELECT id, name, category_id, status FROM pets ORDER BY id');
  const update = (...options: string[]) =>
    cli.run('animals', 'update', path, '--encoding', 'windows-1252', '--yes', ...options);

  beforeEach(async () => {
    await store.database.empty('pets', 'operator_actions');
    const imported = await cli.json('animals', 'import', RECORDS, ...IMPORT_OPTIONS);
    expect(imported).toMatchObject({ added: 10_000 });
  });

  /**
   * Exports the available animals, and corrects them in a spreadsheet: other columns first, one column
   * less, 40 names and 30 states. Returns what each changed animal has to become, by its id.
   */
  async function exportAndCorrect(): Promise<Map<string, Partial<Row>>> {
    const exported = await cli.run('animals', 'export', '--ids', '--status', 'available');
    expect(exported.code).toBe(0);
    const rows = parse<Record<string, string>>(exported.stdout, { columns: true });
    expect(rows.length).toBeGreaterThan(2_000);
    const meant = new Map<string, Partial<Row>>();
    for (const [index, row] of rows.entries()) {
      const changes = {
        ...(index % 70 === 3 && index < 2_800 && { name: `Jörg "Zoë"; ${index} €` }),
        ...(index % 90 === 3 && index < 2_700 && { status: 'sold' }),
      };
      if (Object.keys(changes).length === 0) continue;
      Object.assign(row, changes);
      meant.set(row['id']!, changes);
    }
    expect(meant.size).toBeGreaterThan(60);
    const columns = ['revision', 'status', 'id', 'name'];
    saveAsSpreadsheet(path, [columns, ...rows.map((row) => columns.map((name) => row[name]!))]);
    return meant;
  }

  test('exactly the changes meant come back, while others are added, changed and removed', async () => {
    const meant = await exportAndCorrect();
    const before = await stored();
    const others = before.filter(({ status }) => status !== 'available').map(({ id }) => id);
    const sold = others.slice(0, 2_000);
    const removed = others.slice(-20);
    let isDone = false;
    const add = async () => {
      for (let count = 1; ; count++) {
        const { status } = await store.api.post('/v1/pets', newAnimal({ name: `New ${count}` }));
        expect(status).toBe(201);
        if (isDone) return count;
      }
    };
    const change = async () => {
      for (let start = 0; start === 0 || !isDone; start = (start + 20) % 2_000) {
        const ids = sold.slice(start, start + 20);
        const { code } = await cli.run('animals', 'change', ...ids, '--category', '77');
        expect(code).toBe(0);
      }
    };
    const traffic = [add(), add(), change()] as const;
    const removal = await cli.run('animals', 'remove', ...removed, '--yes');
    expect(removal.code).toBe(0);
    const { code, json, stderr } = await update('--json').finally(() => (isDone = true));
    const [one, other] = await Promise.all(traffic);

    expect([code, stderr]).toEqual([0, expect.stringContaining(`changes ${meant.size} animals`)]);
    expect(json).toMatchObject({ changed: meant.size, missing: 0, ignoredColumns: [] });
    const after = await stored();
    const isOld = ({ id }: Row) => BigInt(id) <= BigInt(before.at(-1)!.id);
    expect(after.filter((row) => !isOld(row))).toHaveLength(one + other);
    const expected = before
      .filter(({ id }) => !removed.includes(id))
      .map((row) => ({ ...row, ...meant.get(row.id) }));
    const withoutTraffic = (rows: readonly Row[]) =>
      rows.filter(isOld).map((row) => (sold.includes(row.id) ? row.name + row.status : row));
    expect(withoutTraffic(after)).toEqual(withoutTraffic(expected));
    expect(after.filter(({ category_id: category }) => category === '77').length).toBeGreaterThan(
      0,
    );
  });

  test('if others have changed some of these animals, nothing is changed, and these are listed', async () => {
    const meant = await exportAndCorrect();
    const [corrected = '', second = ''] = meant.keys();
    const untouched = (await stored()).find(
      ({ id, status }) => status === 'available' && !meant.has(id),
    )!;
    const ids = [corrected, untouched.id];
    expect((await cli.run('animals', 'change', ...ids, '--status', 'pending')).code).toBe(0);
    expect((await cli.run('animals', 'remove', second, '--yes')).code).toBe(0);
    const before = await stored();
    const { code, stderr, stdout } = await update();
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain(
      'Nothing was changed. Changed since the export of the file: 2 animals\n',
    );
    expect(stderr).toContain(
      `\nid ${untouched.id}: status is "pending", in the file "available"\n`,
    );
    expect(stderr).toMatch(new RegExp(`^id ${corrected}: .+`, 'm'));
    expect(await stored()).toEqual(before);
    expect(await cli.json('audit', 'list', '--action', 'animals update')).toEqual([]);

    const { json } = await update('--overwrite', '--json');
    expect(json).toMatchObject({ changed: meant.size, missing: 1, missingIds: [Number(second)] });
  });
});
