// @ts-check
// Builds src/ to dist/ with `nest build`, for `npm start`, `npm run cli` and others. It writes nothing if the build is current. Otherwise it
// replaces only files that have changed, each in one step, so that processes that run from dist/, or build it at the same time, are not disturbed.
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import * as fs from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const SOURCES = join(ROOT, 'src');
const DIST = join(ROOT, 'dist');

const RENAME_ATTEMPTS = 10;
const RENAME_PAUSE_MS = 50;

/** Renames a file, although on Windows a virus scanner may hold a new file for a moment. @type {(from: string, to: string) => void} */
function rename(from, to) {
  for (let attempt = 1; ; attempt++) {
    try {
      return fs.renameSync(from, to);
    } catch (error) {
      const { code = '' } = /** @type {NodeJS.ErrnoException} */ (error);
      if (attempt === RENAME_ATTEMPTS || !['EACCES', 'EBUSY', 'EPERM'].includes(code)) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RENAME_PAUSE_MS);
    }
  }
}

/** @type {(path: string) => void} */
const remove = (path) => fs.rmSync(path, { recursive: true, force: true, maxRetries: 3 });

/** No build takes as long. The number of a process would say nothing in another container that shares the folder. */
const LEFT_AFTER_MS = 600_000;

/** Whether an interrupted build has left a file or folder. @param {string} path @returns {boolean} */
function isLeft(path) {
  const stats = fs.statSync(path, { throwIfNoEntry: false });
  return stats !== undefined && Date.now() - stats.mtimeMs > LEFT_AFTER_MS;
}

/** Of the files that this process writes, before it renames them. */
const ENDING = `.${randomBytes(4).toString('hex')}.new`;

/** Makes a folder contain exactly the given files, and those that another process is writing. @type {(folder: string, files: Map<string, string | Buffer>) => void} */
export function writeFolder(folder, files) {
  for (const [name, text] of files) {
    const path = join(folder, name);
    const content = Buffer.from(text);
    if (fs.existsSync(path) && fs.readFileSync(path).equals(content)) continue;
    fs.mkdirSync(dirname(path), { recursive: true });
    fs.writeFileSync(path + ENDING, content);
    rename(path + ENDING, path);
  }
  for (const name of listFiles(folder)) {
    const path = join(folder, name);
    if (!files.has(name) && (!name.endsWith('.new') || isLeft(path))) remove(path);
  }
}

/** @param {string} folder @returns {string[]} the paths of all files in it */
export function listFiles(folder) {
  if (!fs.existsSync(folder)) return [];
  return fs
    .readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)));
}

/** @param {string} name of a file in src/ @returns {string} its name in dist/ */
const programOf = (name) => name.replace(/\.ts$/, '.js');

/**
 * Whether dist/ was built from the files that src/ has now. The source maps contain the compiled texts. Times would say too little: a copy of the
 * project has new ones, and a file that replaces another one can be old. An installation without src/ has only its build.
 */
function isCurrent() {
  const sources = listFiles(SOURCES).filter((name) => !/\.(?:d|spec)\.ts$/.test(name));
  const programs = listFiles(DIST).filter((name) => name.endsWith('.js'));
  if (sources.length === 0) return programs.length > 0;
  const expected = sources.filter((name) => name.endsWith('.ts')).map(programOf);
  return (
    isDeepStrictEqual(programs.sort(), expected.sort()) &&
    sources.every((name) => isBuilt(name, fs.readFileSync(join(SOURCES, name), 'utf8')))
  );
}

/** @param {string} name of a file in src/ @param {string} text of it @returns {boolean} whether dist/ has what is built from it */
function isBuilt(name, text) {
  try {
    if (!name.endsWith('.ts')) return fs.readFileSync(join(DIST, name), 'utf8') === text;
    const map = fs.readFileSync(join(DIST, `${programOf(name)}.map`), 'utf8');
    return JSON.parse(map).sourcesContent[0] === text;
  } catch {
    // The file is missing, or is being written.
    return false;
  }
}

function build() {
  // An interrupted build leaves its folder.
  for (const name of fs.readdirSync(ROOT)) {
    if (name.startsWith('.dist-') && isLeft(join(ROOT, name))) remove(join(ROOT, name));
  }
  // Beside dist/, so that the source maps contain the right relative paths.
  const folder = fs.mkdtempSync(join(ROOT, '.dist-'));
  process.once('exit', () => remove(folder));
  const config = JSON.parse(fs.readFileSync(join(ROOT, 'nest-cli.json'), 'utf8'));
  Object.assign(config.compilerOptions.builder.options, { outDir: basename(folder), quiet: true });
  config.compilerOptions.deleteOutDir = false;
  const configFile = join(folder, 'nest-cli.json');
  fs.writeFileSync(configFile, JSON.stringify(config));
  const cli = createRequire(import.meta.url).resolve('@nestjs/cli/bin/nest.js');
  // TypeScript, which the Nest CLI imports, does not declare that it is CommonJS. Node.js would search its 9 MB for `import` and `export`.
  const node = '--no-experimental-detect-module';
  const args = [node, cli, 'build', '--config', relative(ROOT, configFile)];
  // Only errors are printed, and not on standard output, which belongs to the command that follows.
  const env = { ...process.env, npm_config_loglevel: 'silent' };
  const { status } = spawnSync(process.execPath, args, { cwd: ROOT, stdio: ['ignore', 2, 2], env });
  remove(configFile);
  if (status !== 0) process.exit(1);
  // Sorted, so that a source map is written after its program, and an interrupted build is not current.
  const names = listFiles(folder).sort();
  writeFolder(DIST, new Map(names.map((name) => [name, fs.readFileSync(join(folder, name))])));
  remove(folder);
}

const FOLDERS = createRequire(import.meta.url).resolve.paths('@nestjs/core') ?? [];
/** @param {string} name of a package @returns {boolean} */
const isInstalled = (name) => FOLDERS.some((folder) => fs.existsSync(join(folder, name)));

/** @type {(line: string) => never} */
function exit(line) {
  process.stderr.write(`${line}\n`);
  process.exit(1);
}

/** Builds src/, unless dist/ is its build already. Ends the process with one line if it cannot. */
export function ensureBuild() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  if (major < 20 || major === 21 || (major === 20 && minor < 19) || (major === 22 && minor < 12)) {
    exit(`Node.js ${process.versions.node} is not supported. Install Node.js 24 (LTS).`);
  }
  if (!isInstalled('@nestjs/core')) exit('Packages are missing. Run `npm ci`.');
  if (isCurrent()) return;
  if (isInstalled('@nestjs/cli')) {
    if (process.stderr.isTTY) process.stderr.write('Building…\n');
    try {
      build();
    } catch (error) {
      const { code = '', message } = /** @type {NodeJS.ErrnoException} */ (error);
      const isReadOnly = ['EACCES', 'EPERM', 'EROFS'].includes(code);
      const isWindows = process.platform === 'win32';
      const step = isWindows
        ? 'Close the programs that use the file'
        : `Run \`npm run build\` as the user who owns ${ROOT}`;
      const remedy = isReadOnly ? `. ${step}` : '';
      exit(`The build failed: ${message}${remedy}`);
    }
  } else if (fs.existsSync(join(DIST, 'main.js'))) {
    const remedy = 'Run `npm ci --include=dev && npm run build`.';
    process.stderr.write(`Warning: dist/ is not the build of these sources. ${remedy}\n`);
  } else {
    exit('There is no build, and its tools are not installed. Run `npm ci --include=dev` first.');
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) ensureBuild();
