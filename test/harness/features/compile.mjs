// @ts-check
// Compiles the features of this folder and of examples/, without a type check.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import ts from 'typescript';
import { ROOT } from '../../../scripts/build-if-stale.mjs';
import { compile } from '../../../scripts/typescript-transform.mjs';

const EXAMPLES = join(ROOT, 'examples');

/** @param {string} product the folder for features/ and examples/ */
export function compileFeatures(product) {
  compileFolder(import.meta.dirname, join(product, 'features'));
  // A team may have deleted them.
  for (const name of ['categories', 'orders'].filter((name) => existsSync(join(EXAMPLES, name)))) {
    const modules = compileFolder(join(EXAMPLES, name), join(product, 'examples', name)).filter(
      (file) => file.endsWith('.module.js'),
    );
    const index = modules.map((module) => `...Object.values(await import('./${module}'))`);
    writeFileSync(
      join(product, 'examples', name, 'index.js'),
      `export default [${index.join()}];\n`,
    );
  }
}

/**
 * Returns the names of the files.
 *
 * @param {string} folder
 * @param {string} output
 */
function compileFolder(folder, output) {
  const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) =>
    path.endsWith('.ts'),
  );
  return sources.map((source) => {
    const name = source.replace(/\.ts$/, '.js');
    const code = compile(
      readFileSync(join(folder, source), 'utf8'),
      join(folder, source),
      ts.ModuleKind.ESNext,
    );
    const file = join(output, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, linked(code, dirname(join(folder, source))));
    return name;
  });
}

/**
 * Returns the code with imports of dist/ in place of those that examples/ has as if it were in src/.
 *
 * @param {string} code
 * @param {string} folder
 */
function linked(code, folder) {
  const imports = /(?<=\bfrom |\bimport\()(["'])(\.[^"']+)\1/g;
  return code.replaceAll(imports, (whole, quote, target) => {
    const path = join(folder, target);
    const isOwn = existsSync(path.replace(/\.js$/, '.ts'));
    return isOwn ? whole : `${quote}#dist/${relative(EXAMPLES, path)}${quote}`;
  });
}
