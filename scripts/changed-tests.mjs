// @ts-check
// Chooses the tests of changed files, for `npm run check`.
import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '..');

/** Tests that a new route or import in any folder can break. */
const ALWAYS = ['test/openapi.test.ts'];

/** Tests that compare migrations, entities and the rights of the database roles. */
const SCHEMA = ['test/database/schema.test.ts', 'test/database/roles.test.ts'];

/** Folders of src/platform/ whose tests have another name. */
const OTHER_NAMES = new Map([['access', 'auth']]);

/** Tests that read files outside of src/. */
const TESTS_BY_FILE = new Map([
  ['docs/extending.md', 'test/system/pages/extending.test.ts'],
  ['SECURITY.md', 'test/system/pages/security-policy.test.ts'],
  ['package.json', 'test/system/tools/supply-chain.test.ts'],
  ['package-lock.json', 'test/system/tools/supply-chain.test.ts'],
]);

/**
 * Returns the test files and folders of changed files: `test/pets` for a file in `src/pets/`, and a
 * changed test itself. Files of `test/harness/` belong to all tests, so they select none.
 *
 * @param {readonly string[]} files relative to the project's folder
 * @returns {string[]}
 */
export function testsOf(files) {
  const tests = new Set(ALWAYS);
  for (const file of files) for (const test of testsOfFile(file)) tests.add(test);
  return [...tests].filter((test) => existsSync(join(ROOT, test))).sort();
}

/** @param {string} file @returns {string[]} */
function testsOfFile(file) {
  const test = TESTS_BY_FILE.get(file);
  if (test) return [test];
  if (/^test\/.+\.test\.ts$/.test(file)) return [file];
  const [top = '', ...folders] = file.split('/');
  const folder = folders[folders[0] === 'platform' ? 1 : 0] ?? '';
  if (top === 'examples') return ['test/system/examples', 'test/system/pages/extending.test.ts'];
  if (top !== 'src') return [];
  if (file.startsWith('src/platform/database/migrations/')) return SCHEMA;
  if (file.startsWith('src/platform/database/embedded/')) return ['test/embedded'];
  const name = OTHER_NAMES.get(folder) ?? folder;
  const own = [`test/${name}`, `test/${name}.test.ts`];
  return file.endsWith('.entity.ts') ? [...own, ...SCHEMA] : own;
}
