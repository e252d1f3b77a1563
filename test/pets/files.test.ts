import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { addPets, EXPORTED_COLUMNS, newAnimal } from '../harness/database/animals.js';
import { useDatabase } from '../harness/database/database.js';
import { Cli } from '../harness/processes/command.js';

// What animals add to the commands for files, which test/platform/commands/files tries.
const folder = mkdtempSync(join(tmpdir(), 'animals-'));
const database = useDatabase();
const cli = Cli.on(database, { app: true });
const animals = (...args: string[]) => cli.json('animals', ...args);
const stored = () => database.query('SELECT * FROM pets ORDER BY id');

function file(text: string, format = 'csv'): string {
  const path = join(folder, `animals.${format}`);
  writeFileSync(path, text);
  return path;
}
const ndjson = (...rows: object[]): string =>
  file(rows.map((row) => JSON.stringify(row)).join('\n'), 'ndjson');

beforeEach(() => database.empty('pets', 'operator_actions'));
afterAll(() => rmSync(folder, { recursive: true }));

test('import adds the animals of a file, with the rules of createPet', async () => {
  const path = ndjson(newAnimal({ name: 'Bo', status: 'Sold' }), newAnimal({ name: 'Ann' }));
  expect(await animals('import', path)).toMatchObject({ added: 2, firstId: 1, lastId: 2 });
  expect(await stored()).toMatchObject([
    { name: 'Bo', status: 'sold' },
    { name: 'Ann', status: 'available' },
  ]);
  const invalid = ndjson(newAnimal({ name: '' }), newAnimal({ status: 'lost' }));
  expect((await cli.run('animals', 'import', invalid)).stderr).toMatch(
    /Invalid lines: 2 of 2\nline 1: name must .+\nline 2: status must be one of available, pending, sold\n/,
  );
});

test('an export is imported again, and its ids select the animals that an update changes', async () => {
  await addPets(database, [
    { name: '=1+1, "😀"', categoryId: 2n ** 63n - 1n, status: 'pending' },
    { name: 'Bo' },
  ]);
  const [first, second] = await stored();
  const { stdout } = await cli.run('animals', 'export');
  expect(stdout.split('\n')[0]).toBe(EXPORTED_COLUMNS);
  const exported = await cli.run('animals', 'export', '--ids');
  const corrected = file(exported.stdout.replace('Bo', 'Ben'));
  expect(await animals('update', corrected)).toMatchObject({ changed: 1, same: 1 });
  expect(await stored()).toEqual([first, { ...second, name: 'Ben' }]);
  const sold = await cli.run('animals', 'export', '--json', '--status', 'pending');
  expect(sold.json).toMatchObject([{ name: '=1+1, "😀"' }]);
  await database.empty('pets');
  expect(await animals('import', file(stdout))).toMatchObject({ added: 2 });
  const same = { name: first!['name'], category_id: first!['category_id'], status: 'pending' };
  expect(await stored()).toMatchObject([same, { name: 'Bo' }]);
});

test('records of a shelter, by the documented options', async () => {
  const page = readFileSync(join(__dirname, '../../docs/commands.md'), 'utf8');
  const [, documented = ''] = /pets animals import outcomes\.csv (.+)`/.exec(page)!;
  const options = [...documented.matchAll(/'([^']*)'|(\S+)/g)].map(([, a, b]) => a ?? b!);
  const records = ['"1","A746874","Cat","Dog",""', '"2","A716330","Dog","White","Frank"'];
  const path = file(`"1","animal_id","animal_type","color","name"\n${records.join('\n')}`);
  expect(await animals('import', path, ...options)).toMatchObject({ added: 2 });
  expect(await stored()).toMatchObject([
    { name: 'A746874', category_id: '2' },
    { name: 'Frank', category_id: '1' },
  ]);
});
