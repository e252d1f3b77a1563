// @ts-check
// Compiles src/ to dist/, and copies its other files, such as templates.
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { fingerprint, MARKER, markStale, ROOT, SOURCE } from './build-if-stale.mjs';

const OUTPUT = join(ROOT, 'dist');
const CONFIG_FILE = join(ROOT, 'tsconfig.build.json');

// One line if a folder is read-only or the disk is full.
process.on('uncaughtException', (/** @type {NodeJS.ErrnoException} */ error) => {
  process.stderr.write(`${error.syscall === undefined ? error.stack : error.message}\n`);
  process.exit(1);
});

/** Compiles src/ once. Does not change `dist` if there is an error. Returns whether it succeeded. */
function compile() {
  // Computed first, so that a file that is saved while the compiler runs makes the build stale.
  const builtFrom = fingerprint();
  const { config } = ts.readConfigFile(CONFIG_FILE, (path) => ts.sys.readFile(path));
  const { fileNames, options, errors } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT);
  const program = ts.createProgram(fileNames, options);
  if (report([...errors, ...ts.getPreEmitDiagnostics(program)])) return false;

  /** @type {Map<string, Buffer>} */
  const files = new Map(assets());
  program.emit(undefined, (path, text) => files.set(resolve(path), Buffer.from(text)));
  markStale();
  files.forEach(writeIfDifferent);
  for (const name of readdirSync(OUTPUT, { recursive: true, encoding: 'utf8' })) {
    const path = join(OUTPUT, name);
    if (!files.has(path) && statSync(path).isFile()) rmSync(path);
  }
  writeFileSync(MARKER, builtFrom);
  return true;
}

/** @returns {[path: string, content: Buffer][]} the files of src that are no TypeScript, by their path in dist */
function assets() {
  const names = readdirSync(SOURCE, { recursive: true, encoding: 'utf8' });
  return names
    .filter((name) => !name.endsWith('.ts') && statSync(join(SOURCE, name)).isFile())
    .map((name) => [join(OUTPUT, name), readFileSync(join(SOURCE, name))]);
}

/**
 * Keeps a file that is up to date, so that a second build of the same sources does not disturb a
 * process that already uses the first one.
 *
 * @param {Buffer} content
 * @param {string} path
 */
function writeIfDifferent(content, path) {
  if (existsSync(path) && readFileSync(path).equals(content)) return;
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
}

/** @param {readonly ts.Diagnostic[]} diagnostics @returns {boolean} whether there are any */
function report(diagnostics) {
  const host = ts.createCompilerHost({});
  process.stderr.write(ts.formatDiagnosticsWithColorAndContext(diagnostics, host));
  return diagnostics.length > 0;
}

if (process.argv[1] === fileURLToPath(import.meta.url) && !compile()) process.exitCode = 1;
