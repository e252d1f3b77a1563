// @ts-check
// Runs before `npm start`, `npm run cli` and others: builds src/ to dist/ with `nest build`. It replaces only files that have changed, each in
// one step, so that processes that run from dist/, or build it at the same time, are not disturbed.
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const DIST = join(ROOT, 'dist');

/** Makes a folder contain exactly the given files. @type {(folder: string, files: Map<string, string | Buffer>) => void} */
export function writeFolder(folder, files) {
  for (const [name, text] of files) {
    const path = join(folder, name);
    const content = Buffer.from(text);
    if (fs.existsSync(path) && fs.readFileSync(path).equals(content)) continue;
    fs.mkdirSync(dirname(path), { recursive: true });
    fs.writeFileSync(`${path}.${process.pid}`, content);
    fs.renameSync(`${path}.${process.pid}`, path);
  }
  for (const name of listFiles(folder)) {
    if (!files.has(name) && !/\.\d+$/.test(name)) fs.rmSync(join(folder, name), { force: true });
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

function build() {
  const reports = join(ROOT, 'reports');
  fs.mkdirSync(reports, { recursive: true });
  const folder = fs.mkdtempSync(join(reports, 'build-'));
  process.once('exit', () => fs.rmSync(folder, { recursive: true, force: true }));
  const config = JSON.parse(fs.readFileSync(join(ROOT, 'nest-cli.json'), 'utf8'));
  const outDir = join(folder, 'dist');
  Object.assign(config.compilerOptions.builder.options, { outDir, quiet: true });
  config.compilerOptions.deleteOutDir = false;
  fs.writeFileSync(join(folder, 'nest-cli.json'), JSON.stringify(config));
  const cli = createRequire(import.meta.url).resolve('@nestjs/cli/bin/nest.js');
  const args = [cli, 'build', '--config', join(relative(ROOT, folder), 'nest-cli.json')];
  // Standard output belongs to the command that follows.
  const { status } = spawnSync(process.execPath, args, { cwd: ROOT, stdio: ['ignore', 2, 2] });
  if (status !== 0) process.exit(1);
  const read = (/** @type {string} */ name) => fs.readFileSync(join(outDir, name));
  writeFolder(DIST, new Map(listFiles(outDir).map((name) => [name, read(name)])));
}

const FOLDERS = createRequire(import.meta.url).resolve.paths('@nestjs/core') ?? [];
/** @param {string} name of a package @returns {boolean} */
const isInstalled = (name) => FOLDERS.some((folder) => fs.existsSync(join(folder, name)));

/** @type {(line: string) => never} */
const exit = (line) => process.exit((process.stderr.write(`${line}\n`), 1));

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  if (major < 20 || major === 21 || (major === 20 && minor < 19) || (major === 22 && minor < 12)) {
    exit(`Node.js ${process.versions.node} is not supported. Install Node.js 24 (LTS).`);
  }
  if (!isInstalled('@nestjs/core')) exit('Packages are missing. Run `npm ci`.');
  if (isInstalled('@nestjs/cli')) {
    if (process.stderr.isTTY) process.stderr.write('Building…\n');
    try {
      build();
    } catch (error) {
      exit(`The build failed: ${/** @type {Error} */ (error).message}`);
    }
  } else if (!fs.existsSync(join(DIST, 'main.js'))) {
    exit('There is no build, and its tools are not installed. Run `npm ci --include=dev` first.');
  }
}
