import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

const MODULE = join(__dirname, '../../../scripts/changed-tests.mjs');
const ALWAYS = ['test/openapi.test.ts'];

/** Returns the tests that `npm run check` runs for changed files. */
function testsOf(...files: string[]): string[] {
  const code = `import(${JSON.stringify(MODULE)}).then(({ testsOf }) =>
    console.log(JSON.stringify(testsOf(process.argv.slice(1)))))`;
  const output = execFileSync(process.execPath, ['-e', code, ...files], { encoding: 'utf8' });
  return JSON.parse(output) as string[];
}

test.each([
  ['src/pets/dto/new-pet.dto.ts', 'test/pets'],
  ['src/platform/database/embedded/embedded-postgres.ts', 'test/embedded'],
  ['src/pets/pet.entity.ts', 'test/database/schema.test.ts'],
  ['src/platform/database/migrations/index.ts', 'test/database/schema.test.ts'],
  ['src/demo/demo.ts', 'test/demo.test.ts'],
  ['test/pets/get.test.ts', 'test/pets/get.test.ts'],
  ['examples/orders/orders.service.ts', 'test/system/examples'],
  ['examples/import-shelter/import.mjs', 'test/system/examples'],
  ['docs/extending.md', 'test/system/pages/extending.test.ts'],
])('npm run check › a change of %s runs %s', (file, expected) => {
  expect(testsOf(file)).toEqual(expect.arrayContaining([...ALWAYS, expected]));
});

test.each([
  ['src/platform/app.ts'],
  ['README.md'],
  ['test/harness/http/client.ts'],
  ['src/categories/categories.service.ts'],
])('npm run check › a change of %s runs only the tests of the whole', (file) => {
  expect(testsOf(file)).toEqual(ALWAYS);
});
