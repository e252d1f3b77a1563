// @ts-check
// Compiles src/ to dist/ as `nest build` does: TypeScript with the plugins of nest-cli.json. The Nest
// CLI itself is not installed, because its code generators do not support Node 20.
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, extname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import ts from 'typescript';
import { fingerprint, MARKER, markStale, ROOT } from './build-if-stale.mjs';

const OUTPUT = join(ROOT, 'dist');

// One line if a folder is read-only or the disk is full.
process.on('uncaughtException', (/** @type {NodeJS.ErrnoException} */ error) => {
  process.stderr.write(`${error.syscall === undefined ? error.stack : error.message}\n`);
  process.exit(1);
});

/** @type {{ compilerOptions: { tsConfigPath: string, plugins: { name: string, options: object }[] } }} */
const { compilerOptions } = JSON.parse(readFileSync(join(ROOT, 'nest-cli.json'), 'utf8'));
export const CONFIG_FILE = join(ROOT, compilerOptions.tsConfigPath);
const plugins = await Promise.all(
  compilerOptions.plugins.map(async ({ name, options }) => {
    const { before } = await import(`${name}/plugin`);
    return (/** @type {ts.Program} */ program) => before(options, program);
  }),
);

/** Compiles src/ once. Does not change `dist` if there is an error. Returns whether it succeeded. */
function compile() {
  // Computed first, so that a file that is saved while the compiler runs makes the build stale.
  const builtFrom = fingerprint();
  const { config } = ts.readConfigFile(CONFIG_FILE, (path) => ts.sys.readFile(path));
  const { fileNames, options, errors } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT);
  const program = ts.createProgram(fileNames, options);
  if (report([...errors, ...ts.getPreEmitDiagnostics(program)])) return false;

  /** @type {Map<string, string>} */
  const files = new Map();
  const write = (/** @type {string} */ path, /** @type {string} */ text) =>
    files.set(resolve(path), text);
  program.emit(undefined, write, undefined, false, transformersOf(program));
  markStale();
  files.forEach(writeIfDifferent);
  const docs = compressDocs();
  for (const name of readdirSync(OUTPUT, { recursive: true, encoding: 'utf8' })) {
    const path = join(OUTPUT, name);
    if (!files.has(path) && !docs.has(path) && statSync(path).isFile()) rmSync(path);
  }
  writeFileSync(MARKER, builtFrom);
  return true;
}

/**
 * Keeps a file that is up to date, so that a second build of the same sources does not disturb a
 * process that already uses the first one.
 *
 * @param {string | Buffer} content
 * @param {string} path
 */
function writeIfDifferent(content, path) {
  if (existsSync(path) && readFileSync(path).equals(Buffer.from(content))) return;
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
}

/**
 * Writes the files of the page /docs as the service sends them: compressed with gzip, under the
 * names that the page uses.
 *
 * @returns {Map<string, Buffer>} content by path
 */
function compressDocs() {
  const swaggerUi = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
  const files = [
    join(swaggerUi, 'favicon-32x32.png'),
    join(swaggerUi, 'swagger-ui.css'),
    join(swaggerUi, 'swagger-ui-bundle.js'),
    join(ROOT, 'src/platform/http/openapi/browser/page.css'),
    join(OUTPUT, 'platform/http/openapi/browser/start-swagger-ui.js'),
  ];
  const folder = join(OUTPUT, 'platform/http/openapi/compressed/docs');
  const compressed = new Map(
    files.map((file) => [join(folder, basename(file)), gzipSync(published(file), { level: 9 })]),
  );
  compressed.forEach(writeIfDifferent);
  return compressed;
}

/**
 * Returns the content of a file without the name of a source map: the service sends none. The style
 * sheet shows its dark colors where the browser prefers them, instead of where a script sets a class.
 *
 * @param {string} file
 */
function published(file) {
  const content = readFileSync(file);
  if (extname(file) === '.png') return content;
  return content
    .toString()
    .replace(/\/[/*]# sourceMappingURL=.*/, '')
    .replace(/html\.dark-mode[^{}]*\{[^{}]*\}/g, '@media (prefers-color-scheme: dark) {$&}')
    .replaceAll('html.dark-mode', 'html:root');
}

/**
 * Compiles src/ now and whenever a file changes, and reports errors to standard error.
 *
 * @param {() => void} onCompiled called after each compilation without errors
 * @returns {() => void} a function that stops watching
 */
export function watchSources(onCompiled) {
  const host = ts.createWatchCompilerHost(
    CONFIG_FILE,
    {},
    ts.sys,
    ts.createEmitAndSemanticDiagnosticsBuilderProgram,
    (diagnostic) => void report([diagnostic]),
    () => undefined,
  );
  host.afterProgramCreate = (builder) => {
    if (report([...builder.getSyntacticDiagnostics(), ...builder.getSemanticDiagnostics()])) return;
    builder.emit(undefined, undefined, undefined, false, transformersOf(builder.getProgram()));
    compressDocs();
    onCompiled();
  };
  const watch = ts.createWatchProgram(host);
  return () => watch.close();
}

/**
 * Returns the compiler plugins of nest-cli.json for a program. The Swagger plugin asks the type
 * checker where a class is, and takes a backslash in the text for the separator of a Windows path.
 * The checker would escape letters outside of ASCII.
 *
 * @param {ts.Program} program
 * @returns {ts.CustomTransformers}
 */
export function transformersOf(program) {
  const checker = program.getTypeChecker();
  const typeToString = checker.typeToString.bind(checker);
  checker.typeToString = (...type) =>
    typeToString(...type).replace(/\\u\{?([\dA-F]{4,6})\}?/g, (_, code) =>
      String.fromCodePoint(parseInt(code, 16)),
    );
  return { before: plugins.map((plugin) => plugin(program)) };
}

/** @param {readonly ts.Diagnostic[]} diagnostics @returns {boolean} whether there are any */
function report(diagnostics) {
  const host = ts.createCompilerHost({});
  process.stderr.write(ts.formatDiagnosticsWithColorAndContext(diagnostics, host));
  return diagnostics.length > 0;
}

if (process.argv[1] === fileURLToPath(import.meta.url) && !compile()) process.exitCode = 1;
