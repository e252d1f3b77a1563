// @ts-check
// Compiles src/ for the tests, twice: reports/team is the service as it is; reports/product has the store of
// test/harness/features/store as its AppModule, so that the tests of the platform do not depend on the features of a team. It also has
// the features and programs of the tests, and the examples.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { transformFile } from '@swc/core';
import { listFiles, writeFolder } from '../../../scripts/build.mjs';

const ROOT = join(import.meta.dirname, '../../..');
export const PRODUCT_FOLDER = join(ROOT, 'reports', 'product');
export const TEAM_FOLDER = join(ROOT, 'reports', 'team');

/**
 * Creates both folders. Processes that run from them are not disturbed.
 *
 * @returns {Promise<string>} a digest of the code that creates the schema
 */
export async function createProduct() {
  const source = await compile('src', 'src');
  const programs = await compile('test/harness/programs', 'test/harness/programs');
  const project = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  project.imports = { '#platform': './src/platform/index.js' };
  // `db generate` loads it from a checkout.
  const generator = 'scripts/generate-migration.mjs';
  const team = new Map([
    ...source,
    ...programs,
    [generator, readFileSync(join(ROOT, generator))],
    ['package.json', JSON.stringify(project)],
  ]);
  const product = new Map([
    ...team,
    ...(await compile('test/harness/features', 'test/harness/features')),
    ...(await compile('test/harness/features/store', 'src/store')),
    ['src/team.module.js', team.get('src/app.module.js') ?? ''],
    ['src/team.commands.js', team.get('src/commands.js') ?? ''],
    ['src/commands.js', "export { COMMANDS } from './store/commands.js';\n"],
    ['src/app.module.js', "export { AppModule } from './store/app.module.js';\n"],
  ]);
  // In src/store, it is nearer to src.
  const root = 'src/store/app.module.js';
  product.set(root, String(product.get(root)).replaceAll('../../../../src/', '../'));
  for (const name of ['categories', 'orders', 'packages/multer']) {
    // Their migrations are executed by their tests only.
    const files = [...(await compile(`examples/${name}`, `src/${name}`))].filter(
      ([path]) => !path.includes('migrations'),
    );
    const modules = files
      .map(([path]) => basename(path))
      .filter((path) => path.endsWith('module.js'));
    const index = modules.map((path) => `...Object.values(await import('./${path}'))`);
    const isModule = "filter(({ name }) => name.endsWith('Module'))";
    const groups = files
      .map(([path]) => basename(path, '.commands.js'))
      .filter((group) => !group.includes('.'))
      .map((group) => {
        const load = `async () => Object.values(await import('./${group}.commands.js'))[0]`;
        return `${group}: { description: '', load: ${load} }`;
      });
    files.push([
      `src/${name}/index.js`,
      `export default [${index.join()}].${isModule};\nexport const COMMANDS = { ${groups.join()} };\n`,
    ]);
    for (const [path, code] of files) product.set(path, code);
  }
  writeFolder(TEAM_FOLDER, team);
  writeFolder(PRODUCT_FOLDER, product);
  // It creates the templates.
  const hash = createHash('sha256').update(readFileSync(join(import.meta.dirname, 'services.mjs')));
  for (const [path, code] of [...product].sort()) {
    if (/migrations|platform.database/.test(path)) hash.update(`${path}\0${code.toString()}\0`);
  }
  return hash.digest('hex');
}

/**
 * @param {string} from a folder of the project. A team may have deleted an example
 * @param {string} to its folder in the product
 * @returns {Promise<Map<string, string | Buffer>>} the compiled files and the other ones, by their path
 */
async function compile(from, to) {
  /** @type {Map<string, string | Buffer>} */
  const files = new Map();
  const names = listFiles(join(ROOT, from)).filter((name) => !name.endsWith('.spec.ts'));
  const reads = names.map(async (name) => {
    const path = join(ROOT, from, name);
    if (!name.endsWith('.ts')) return files.set(join(to, name), readFileSync(path));
    const { code } = await transformFile(path, { sourceMaps: 'inline', cwd: ROOT });
    return files.set(join(to, name.replace(/\.ts$/, '.js')), code);
  });
  await Promise.all(reads);
  return files;
}
