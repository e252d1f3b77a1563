// @ts-check
// Compiles a feature of examples/, or of another folder, to reports/examples/, without a type check. Its imports of src/ become imports of dist/.
// Usage: node compile-example.mjs NAME [FOLDER]
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import ts from 'typescript';
import { ROOT } from '../../../scripts/build-if-stale.mjs';
import { CONFIG_FILE } from '../../../scripts/compile.mjs';

const [, , name = '', folder = 'examples'] = process.argv;
const EXAMPLES = join(ROOT, folder);
const OUTPUT = join(ROOT, 'reports', 'examples');

const files = readdirSync(join(EXAMPLES, name), { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
  .map((entry) => join(entry.parentPath, entry.name));
const { config } = ts.readConfigFile(CONFIG_FILE, (path) => ts.sys.readFile(path));
const { options } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT);
const program = ts.createProgram(files, { ...options, rootDir: ROOT, sourceMap: false });

rmSync(join(OUTPUT, name), { recursive: true, force: true });
/** @type {string[]} */
const modules = [];
for (const file of files) {
  const source = relative(EXAMPLES, file);
  if (source.endsWith('.module.ts')) modules.push(source.replace(/\.ts$/, '.js'));
  const write = (/** @type {string} */ _path, /** @type {string} */ text) => {
    const output = join(OUTPUT, source.replace(/\.ts$/, '.js'));
    mkdirSync(dirname(output), { recursive: true });
    writeFileSync(output, linked(text, dirname(source)));
  };
  program.emit(program.getSourceFile(file), write);
}
const index = modules.map((module) => `...Object.values(await import('../${module}'))`);
writeFileSync(join(OUTPUT, name, 'index.js'), `export default [${index.join()}];\n`);

/**
 * Returns the code with imports of dist/ in place of those of src/.
 *
 * @param {string} code
 * @param {string} folder of the source, relative to examples/
 */
function linked(code, folder) {
  const imports = /(?<=\bfrom |\bimport\()(["'])(\.[^"']+)\1/g;
  return code.replaceAll(imports, (whole, quote, target) => {
    const path = join(folder, target);
    const isOwn = existsSync(join(EXAMPLES, path.replace(/\.js$/, '.ts')));
    return isOwn ? whole : `${quote}#dist/${path}${quote}`;
  });
}
