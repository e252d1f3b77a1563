// @ts-check
// Runs rows of docs/packages.md: `npm run check:packages [-- NAME…]`. For each row, a copy of the project
// installs the packages, gets the feature in src/ and AppModule, is built, and is started on a new
// embedded database. NAME+NAME runs rows in one service. OUTPUT=1 prints the output of a failed row.
import { strict as assert } from 'node:assert';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { stripVTControlCharacters } from 'node:util';
import { checkPromises } from './promises.mjs';

/**
 * The declaration of a row. The texts of `log` are regular expressions.
 *
 * @typedef {object} Row
 * @property {string[]} packages to install, with major versions
 * @property {[file: string, text: string, by: string][]} [edits] texts to replace
 * @property {Record<string, string>} [environment]
 * @property {true} [redis] starts a Redis server
 * @property {string} [refused] the start must fail with this message, a regular expression
 * @property {import('./promises.mjs').Exchange[]} requests
 * @property {string[]} [log] lines that the service must write
 */

const STEP_LIMIT_MS = 300_000;
const START_LIMIT_MS = 60_000;
const HERE = import.meta.dirname;
const ROOT = join(HERE, '..', '..');
const read = (/** @type {string} */ path) => fs.readFileSync(path, 'utf8');

const rowNames = fs.readdirSync(HERE).filter((name) => fs.existsSync(join(HERE, name, 'row.json')));
const arguments_ = process.argv.length > 2 ? process.argv.slice(2) : rowNames;
const unknown = arguments_
  .flatMap((names) => names.split('+'))
  .filter((name) => !rowNames.includes(name));
assert.equal(unknown.length, 0, `No such row: ${unknown.join(', ')}`);

fs.mkdirSync(join(ROOT, 'reports'), { recursive: true });
const copy = fs.mkdtempSync(join(ROOT, 'reports', 'packages-'));
const dataDir = join(copy, 'data');
/** What the programs of the present row wrote. */
let output = '';
/** @typedef {import('node:child_process').ChildProcessWithoutNullStreams} Child */
/** @type {Set<Child>} */
const children = new Set();
process.on('exit', () => fs.rmSync(copy, { recursive: true, force: true, maxRetries: 5 }));
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.on(signal, () => {
    // The build has a compiler of its own.
    for (const { pid } of children) process.kill(-(pid ?? 0), 'SIGTERM');
    void Promise.all([...children].map(stop)).then(() => process.exit(1));
  });
}

copyProject();
for (const names of arguments_) {
  const startMs = performance.now();
  output = '';
  const failure = await checkRows(names.split('+')).then(
    () => '',
    (/** @type {unknown} */ error) => `  ${String(error).trim().split('\n').slice(0, 3).join(' ')}`,
  );
  const seconds = Math.round((performance.now() - startMs) / 1_000);
  console.log(`${failure ? 'FAILED' : 'passed'}  ${names}  ${seconds} s${failure}`);
  if (failure === '') continue;
  process.exitCode = 1;
  if (process.env['OUTPUT']) console.log(output);
}
process.exit();

function copyProject() {
  fs.chmodSync(copy, 0o755);
  const list = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
  const files = execFileSync('git', list, { cwd: ROOT });
  execFileSync('xargs', ['-0', 'cp', '--parents', '-t', copy], { cwd: ROOT, input: files });
  // Hard links, because the copies of symbolic links would be the same packages.
  execFileSync('cp', ['-al', join(ROOT, 'node_modules'), copy]);
  // npm writes this file in place, and replaces all others.
  const hidden = join('node_modules', '.package-lock.json');
  fs.rmSync(join(copy, hidden));
  fs.copyFileSync(join(ROOT, hidden), join(copy, hidden));
}

/** @param {string[]} names of rows that are checked together */
async function checkRows(names) {
  for (const path of ['src', 'package.json', 'package-lock.json']) {
    fs.rmSync(join(copy, path), { recursive: true });
    fs.cpSync(join(ROOT, path), join(copy, path), { recursive: true });
  }
  const rows = names.map(addFeature);
  const options = ['--no-audit', '--no-fund', '--ignore-scripts', '--prefer-offline'];
  await step('npm', 'install', ...options, ...rows.flatMap(({ packages }) => packages));
  await step('node', 'scripts/build-if-stale.mjs');
  fs.rmSync(dataDir, { recursive: true, force: true });
  try {
    const redisUrl = rows.some(({ redis }) => redis) ? await startRedis() : '';
    const environment = rows.map((row) => row.environment ?? {});
    await checkService(rows, Object.assign({ REDIS_URL: redisUrl }, ...environment));
  } finally {
    for (const child of children) await stop(child);
  }
}

/** Adds a row to the copy as an engineer does. @param {string} name @returns {Row} */
function addFeature(name) {
  fs.cpSync(join(HERE, name), join(copy, 'src', name), { recursive: true });
  const source = read(join(HERE, name, `${name}.module.ts`));
  const [, module = ''] = /export class (\w+Module)/.exec(source) ?? [];
  const line = `import { ${module} } from './${name}/${name}.module.js';\n`;
  replace('src/app.module.ts', '\n/**', `${line}\n/**`);
  replace('src/app.module.ts', 'imports: [', `imports: [${module}, `);
  /** @type {Row} */
  const row = JSON.parse(read(join(HERE, name, 'row.json')));
  for (const [file, text, by] of row.edits ?? []) replace(file, text, by);
  return row;
}

/** @param {string} file @param {string} text @param {string} by */
function replace(file, text, by) {
  const content = read(join(copy, file));
  assert.ok(content.includes(text), `${file} does not contain ${text}`);
  const changed = content.replace(text, () => by);
  fs.writeFileSync(join(copy, file), changed);
}

/** @param {Row[]} rows @param {Record<string, string>} environment */
async function checkService(rows, environment) {
  const ports = { PORT: '0', METRICS_PORT: '0', DATABASE_URL: '', DATA_DIR: dataDir };
  const service = start({ ...ports, ...environment }, 'node', 'scripts/start.mjs');
  const refused = rows.find((row) => row.refused)?.refused;
  if (refused !== undefined) {
    await once(service, 'exit');
    assert.match(output, new RegExp(refused));
    assert.equal(service.exitCode, 1, 'wrong exit code');
    return;
  }
  const listening = /"address":"(\S+?)","metrics":"(\S+?)".*"msg":"listening"/;
  const [, url = '', metrics = ''] = await match(listening, service);
  const key = read(join(dataDir, 'demo-key')).trim();
  const target = { url, metrics, key, output: () => output };
  const logs = rows.flatMap(({ log }) => log ?? []);
  const exchanges = rows.map(({ requests }) => requests);
  await checkPromises(exchanges, logs, target);
  await stop(service);
  assert.equal(service.exitCode, 0, 'wrong exit code');
}

/**
 * Waits until the output matches.
 *
 * @param {RegExp} pattern
 * @param {Child} child
 * @returns {Promise<string[]>} the groups
 */
async function match(pattern, child) {
  for (const limit = Date.now() + START_LIMIT_MS; ; await delay(50)) {
    const found = pattern.exec(output);
    if (found) return found;
    assert.ok(isRunning(child) && Date.now() < limit, `does not start: ${output.slice(-300)}`);
  }
}

/** @param {string} command @param {string[]} args */
async function step(command, ...args) {
  const before = output.length;
  const child = start({}, command, ...args);
  const timer = setTimeout(() => child.kill(), STEP_LIMIT_MS);
  await once(child, 'close');
  clearTimeout(timer);
  if (child.exitCode === 0) return;
  const text = stripVTControlCharacters(output.slice(before));
  throw new Error(/^.*\berror\b.*$/im.exec(text)?.[0] ?? `${command} ${args.join(' ')} failed`);
}

/** @param {Record<string, string>} env @param {string} command @param {string[]} args */
function start(env, command, ...args) {
  const child = spawn(command, args, {
    cwd: copy,
    env: { ...process.env, ...env },
    detached: true,
  });
  children.add(child);
  child.once('exit', () => children.delete(child));
  child.once('error', ({ message }) => (output += message));
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => (output += text));
  }
  return child;
}

/** @param {Child} child */
function isRunning({ pid, exitCode, signalCode }) {
  return pid !== undefined && exitCode === null && signalCode === null;
}

/** @param {Child} child */
async function stop(child) {
  if (!isRunning(child)) return;
  const timer = setTimeout(() => child.kill('SIGKILL'), STEP_LIMIT_MS);
  child.kill('SIGTERM');
  await once(child, 'exit');
  clearTimeout(timer);
}

/** Returns the address of a Redis server. */
async function startRedis() {
  const port = String(20_000 + (process.pid % 10_000));
  const options = ['--port', port, '--save', '', '--maxmemory-policy', 'noeviction'];
  await match(/Ready to accept connections/, start({}, 'redis-server', ...options));
  return `redis://127.0.0.1:${port}`;
}
