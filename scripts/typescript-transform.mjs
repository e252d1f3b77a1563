// @ts-check
// Compiles a module to the JavaScript that runs it, without a type check.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import ts from 'typescript';

/** Nest reads the types of parameters and properties at run time, as in tsconfig.json. */
const OPTIONS = {
  target: ts.ScriptTarget.ES2022,
  experimentalDecorators: true,
  emitDecoratorMetadata: true,
  useDefineForClassFields: false,
  inlineSourceMap: true,
  allowJs: true,
};
const OWN_TEXT = readFileSync(new URL(import.meta.url));

/**
 * @param {string} text TypeScript or JavaScript
 * @param {string} fileName for source maps
 * @param {ts.ModuleKind} module the module format of the result
 */
export function compile(text, fileName, module) {
  return ts.transpileModule(text, { fileName, compilerOptions: { ...OPTIONS, module } }).outputText;
}

const NODE = { moduleResolution: ts.ModuleResolutionKind.NodeNext, module: ts.ModuleKind.NodeNext };

/** Jest's interface of a transformer: it runs all modules as CommonJS, also those of packages. */
export default {
  /** @param {string} text @param {string} fileName */
  process: (text, fileName) => {
    const format = ts.getImpliedNodeFormatForFile(fileName, undefined, ts.sys, NODE);
    if (fileName.endsWith('.js') && format === ts.ModuleKind.CommonJS) return { code: text };
    // CommonJS defines `require` and has no import.meta.
    const code = compile(text, fileName, ts.ModuleKind.CommonJS)
      .replace(/^const require = .*createRequire.*$/m, '')
      .replaceAll(
        'import.meta.resolve',
        "((name) => require('node:url').pathToFileURL(require.resolve(name)).href)",
      )
      .replaceAll('import.meta.url', "require('node:url').pathToFileURL(__filename).href")
      .replaceAll(/import\.meta\.(dirname|filename)/g, '__$1');
    return { code };
  },
  /** @param {string} text @param {string} fileName */
  getCacheKey: (text, fileName) =>
    createHash('sha256')
      .update(OWN_TEXT)
      .update(`${ts.version}\0${fileName}\0${text}`)
      .digest('hex'),
};
