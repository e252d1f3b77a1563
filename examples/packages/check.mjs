// @ts-check
// Runs rows of docs/extending.md, "Packages": `npm run check:packages [-- NAME…]`. For each row, a copy of the project
// installs the packages, gets the feature in src/ and AppModule, is built, and is started on a new
// embedded database. Then the requests of the row, and published ones, get the expected responses.
import { strict as assert } from 'node:assert';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { newAnimal } from '../new-animal.mjs';

/**
 * A request and its expected response. The texts of `body` and `has` are regular expressions.
 *
 * @typedef {object} Exchange
 * @property {string} request the method and the path
 * @property {string} [key] instead of the demo API key; empty for none; SAVED is the text saved last
 * @property {unknown} [json]
 * @property {Record<string, string>} [form] the files of a multipart body, by field. The file of `a` is `a-ñ.txt`
 * @property {number} status
 * @property {string} [body] without it, an error must have the Error shape
 * @property {Record<string, string>} [has] headers of the response
 * @property {string} [save] a regular expression whose group is saved
 *
 * @typedef {{ packages: string[], requests: Exchange[] }} Row packages with major versions
 * @typedef {{ url: string, key: string }} Service
 */

const STEP_LIMIT_MS = 300_000;
const RATE_LIMIT_HEADERS = ['Limit', 'Remaining', 'Reset'].map((name) => `X-RateLimit-${name}`);
/** @type {Exchange[]} */
const PUBLISHED = [
  {
    request: 'GET /v1/pets?limit=1',
    status: 200,
    body: '^\\[\\{"id":1,[^{]+\\}\\]$',
    has: { ETag: '.' },
  },
  {
    request: 'GET /v1/pets/1',
    status: 200,
    body: '^\\{"id":1,[^{]+\\}$',
    has: { Deprecation: '^@' },
  },
  { request: 'POST /v1/pets', json: newAnimal(), status: 201, body: '^\\{"id":\\d+,' },
  { request: 'POST /v1/pets', json: {}, status: 400 },
  { request: 'GET /v1/nothing', status: 404 },
  { request: 'DELETE /v1/pets', status: 405 },
  { request: 'GET /v1/pets', key: '', status: 401 },
];
const HERE = import.meta.dirname;
const ROOT = join(HERE, '..', '..');
const read = (/** @type {string} */ path) => fs.readFileSync(path, 'utf8');

fs.mkdirSync(join(ROOT, 'reports'), { recursive: true });
const copy = fs.mkdtempSync(join(ROOT, 'reports', 'packages-'));
const dataDir = join(copy, 'data');
process.on('exit', () => fs.rmSync(copy, { recursive: true, force: true, maxRetries: 5 }));
process.on('SIGINT', () => process.exit(1));

copyProject();
const allRows = fs.readdirSync(HERE).filter((name) => fs.existsSync(join(HERE, name, 'row.json')));
for (const name of process.argv.length > 2 ? process.argv.slice(2) : allRows) {
  try {
    await checkRow(name);
    console.log(`passed  ${name}`);
  } catch (error) {
    console.log(`FAILED  ${name}  ${String(error).trim().split('\n').slice(0, 20).join('\n')}`);
    process.exitCode = 1;
  }
}

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

/** @param {string} name */
async function checkRow(name) {
  for (const path of ['src', 'package.json', 'package-lock.json', 'data']) {
    fs.rmSync(join(copy, path), { recursive: true, force: true });
    if (path !== 'data') fs.cpSync(join(ROOT, path), join(copy, path), { recursive: true });
  }
  // As an engineer adds it.
  fs.cpSync(join(HERE, name), join(copy, 'src', name), { recursive: true });
  const [, module = ''] =
    /export class (\w+Module)/.exec(read(join(HERE, name, `${name}.module.ts`))) ?? [];
  const appModule = join(copy, 'src/app.module.ts');
  const text = read(appModule).replace('imports: [', `imports: [${module}, `);
  fs.writeFileSync(appModule, `import { ${module} } from './${name}/${name}.module.js';\n${text}`);
  /** @type {Row} */
  const { packages, requests } = JSON.parse(read(join(HERE, name, 'row.json')));
  const options = { cwd: copy, stdio: 'pipe', timeout: STEP_LIMIT_MS, encoding: 'utf8' };
  const install = ['install', '--no-audit', '--no-fund', '--ignore-scripts', '--prefer-offline'];
  execFileSync('npm', [...install, ...packages], /** @type {any} */ (options));
  execFileSync('npm', ['run', 'build'], /** @type {any} */ (options));
  await withService(async (service) => {
    let saved = '';
    for (const exchange of [...requests, ...PUBLISHED]) {
      saved =
        (await check(JSON.parse(JSON.stringify(exchange).replaceAll('SAVED', saved)), service)) ??
        saved;
    }
  });
}

/** @param {(service: Service) => Promise<void>} work */
async function withService(work) {
  const env = { ...process.env, PORT: '0', METRICS_PORT: '', DATABASE_URL: '', DATA_DIR: dataDir };
  const service = spawn('node', ['dist/main.js'], { cwd: copy, env });
  const exited = once(service, 'exit');
  let output = '';
  service.stderr.on('data', (chunk) => (output += String(chunk)));
  try {
    for await (const line of createInterface(service.stdout)) {
      output += `${line}\n`;
      const [, url] = /"address":"([^"]+)".*"msg":"listening"/.exec(line) ?? [];
      if (url === undefined) continue;
      await work({ url, key: read(join(dataDir, 'demo-key')).trim() });
      return;
    }
    throw new Error(`does not start: ${output.slice(-500)}`);
  } finally {
    service.kill('SIGTERM');
    await exited;
  }
}

/** Returns the saved text. @param {Exchange} exchange @param {Service} service */
async function check({ request, status, json, form, body, has = {}, save, ...rest }, service) {
  const [method = '', path = ''] = request.split(' ');
  const headers = new Headers();
  const key = rest.key ?? service.key;
  if (key !== '') headers.set('authorization', `Bearer ${key}`);
  if (json !== undefined) headers.set('content-type', 'application/json');
  const files = new FormData();
  for (const [name, text] of Object.entries(form ?? {})) {
    files.set(name, new Blob([text]), `${name}-ñ.txt`);
  }
  const sent = form ? files : JSON.stringify(json);
  const signal = AbortSignal.timeout(15_000);
  const response = await fetch(service.url + path, { method, headers, body: sent, signal });
  const text = await response.text();
  const shape = `^\\{"code":"\\w+","message":"[^"]+","status":${status}\\}$`;
  assert.equal(response.status, status, `${request}: ${text}`);
  assert.match(text, new RegExp(body ?? (status < 400 ? '' : shape)), request);
  for (const name of RATE_LIMIT_HEADERS) has[name] = '^\\d+$';
  for (const [name, value] of Object.entries(has)) {
    assert.match(response.headers.get(name) ?? '', new RegExp(value), `${request}: ${name}`);
  }
  return save === undefined ? undefined : new RegExp(save).exec(text)?.[1];
}
