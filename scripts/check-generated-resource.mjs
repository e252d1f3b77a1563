// @ts-check
// Checks that a resource which the Nest CLI generates needs no edit: in a copy of the project, it passes the
// static checks, and the service serves and describes it.
import { strict as assert } from 'node:assert';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
mkdirSync(join(ROOT, 'reports'), { recursive: true });
const copy = mkdtempSync(join(ROOT, 'reports', 'generated-'));
chmodSync(copy, 0o755);
const files = execFileSync('git', ['ls-files', '-z', '-co', '--exclude-standard'], { cwd: ROOT });
execFileSync('xargs', ['-0', 'cp', '--parents', '-t', copy], { cwd: ROOT, input: files });
// Hard links, because the copies of symbolic links would be the same packages.
execFileSync('cp', ['-al', join(ROOT, 'node_modules'), copy]);
try {
  run('npx', 'nest', 'generate', 'resource', 'toys', '--type', 'rest', '--crud');
  run('npx', 'prettier', '--check', 'src', 'nest-cli.json');
  run('npx', 'eslint', 'src/toys', 'src/app.module.ts');
  run('npm', 'run', '--silent', 'deps');
  run('npm', 'run', '--silent', 'build');
  await checkService();
} finally {
  rmSync(copy, { recursive: true, force: true });
}

/** @param {string} command @param {string[]} args */
function run(command, ...args) {
  console.log(`> ${[command, ...args].join(' ')}`);
  execFileSync(command, args, { cwd: copy, stdio: 'inherit', timeout: 300_000 });
}

async function checkService() {
  const dataDir = join(copy, 'data');
  const env = { ...process.env, PORT: '0', METRICS_PORT: '', DATA_DIR: dataDir };
  const options = { cwd: copy, env, timeout: 60_000 };
  const service = spawn(process.execPath, ['scripts/start.mjs'], options);
  const exited = once(service, 'exit');
  try {
    for await (const line of createInterface(service.stdout)) {
      const [, url] = /"address":"([^"]+)".*"msg":"listening"/.exec(line) ?? [];
      if (url === undefined) continue;
      await checkRoutes(url, readFileSync(join(dataDir, 'demo-key'), 'utf8').trim());
      return;
    }
    throw new Error('The service did not start.');
  } finally {
    service.kill('SIGTERM');
    await exited;
  }
}

/** @param {string} url @param {string} key */
async function checkRoutes(url, key) {
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
  /** @param {string} method @param {string} path @param {string} [body] */
  const send = (method, path, body) =>
    fetch(`${url}/v1/${path}`, { method, headers, ...(body && { body }) });
  const list = await send('GET', 'toys');
  assert.equal(await list.json(), 'This action returns all toys');
  assert.match(list.headers.get('x-ratelimit-remaining') ?? '', /^\d+$/);
  assert.equal((await send('POST', 'toys', '{}')).status, 201);
  assert.equal((await send('PATCH', 'toys/1', '{}')).status, 200);
  assert.equal((await fetch(`${url}/v1/toys`)).status, 401);
  /** @type {any} */
  const { paths } = await (await fetch(`${url}/openapi.json`)).json();
  assert.deepEqual(Object.keys(paths['/toys/{id}']), ['get', 'patch', 'delete']);
}
