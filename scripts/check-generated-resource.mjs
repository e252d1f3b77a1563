// @ts-check
// Checks that nothing which the Nest CLI generates needs an edit: in a copy of the project, it passes
// the static checks and the project's own tests, and the service serves and describes a resource.
import { strict as assert } from 'node:assert';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** What `nest generate` writes in addition to a resource. */
const PARTS = [
  ...['module', 'provider', 'class', 'interface', 'decorator'],
  ...['filter', 'guard', 'interceptor', 'middleware', 'pipe'],
];
const WEBSOCKETS = '@nestjs/websockets@12.1.1';
const STEP_LIMIT_MS = 300_000;
const START_LIMIT_MS = 60_000;
/** Tests that look at all routes of the application. */
const TESTS = ['openapi', 'system/swagger-ui', 'http/access-matrix', 'http/every-response'];

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
mkdirSync(join(ROOT, 'reports'), { recursive: true });
const copy = mkdtempSync(join(ROOT, 'reports', 'generated-'));
chmodSync(copy, 0o755);
try {
  copyProject();
  run('npx', 'nest', 'generate', 'resource', 'toys', '--type', 'rest', '--crud');
  for (const part of PARTS) run('npx', 'nest', 'generate', part, `parts/${part}`);
  run('npx', 'prettier', '--check', 'src', 'nest-cli.json');
  run('npx', 'eslint', 'src/toys', 'src/parts', 'src/app.module.ts');
  run('npm', 'run', '--silent', 'deps');
  run('npm', 'run', '--silent', 'typecheck');
  run('npm', 'run', '--silent', 'build');
  await withService(checkRoutes);
  run('npx', 'jest', '--forceExit', ...TESTS.map((name) => `test/${name}`));
  checkGateway();
} finally {
  rmSync(copy, { recursive: true, force: true });
}

function copyProject() {
  const list = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
  const files = execFileSync('git', list, { cwd: ROOT });
  execFileSync('xargs', ['-0', 'cp', '--parents', '-t', copy], { cwd: ROOT, input: files });
  // Hard links, because the copies of symbolic links would be the same packages.
  execFileSync('cp', ['-al', join(ROOT, 'node_modules'), copy]);
}

/** @param {string} command @param {string[]} args */
function run(command, ...args) {
  console.log(`> ${[command, ...args].join(' ')}`);
  execFileSync(command, args, { cwd: copy, stdio: 'inherit', timeout: STEP_LIMIT_MS });
}

/** @param {(url: string, key: string) => Promise<void>} check */
async function withService(check) {
  console.log('> npm start');
  const dataDir = join(copy, 'data');
  const service = spawn(process.execPath, ['scripts/start.mjs'], {
    cwd: copy,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, PORT: '0', METRICS_PORT: '', DATA_DIR: dataDir },
    timeout: START_LIMIT_MS,
  });
  const exited = once(service, 'exit');
  try {
    for await (const line of createInterface(service.stdout)) {
      const [, url] = /"address":"([^"]+)".*"msg":"listening"/.exec(line) ?? [];
      if (url === undefined) continue;
      await check(url, readFileSync(join(dataDir, 'demo-key'), 'utf8').trim());
      return;
    }
    throw new Error('The service did not start.');
  } finally {
    service.kill('SIGTERM');
    await exited;
  }
}

/** The start rejects a gateway, so the service is not built with it. */
function checkGateway() {
  run('npm', 'install', '--no-save', '--ignore-scripts', '--no-audit', '--no-fund', WEBSOCKETS);
  run('npx', 'nest', 'generate', 'gateway', 'parts/gateway');
  run('npx', 'prettier', '--check', 'src/parts');
  run('npx', 'eslint', 'src/parts');
  run('npm', 'run', '--silent', 'typecheck');
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
  assert.equal((await send('GET', 'toys/1')).status, 200);
  assert.equal((await send('POST', 'toys', '{}')).status, 201);
  assert.equal((await send('POST', 'toys', '{')).status, 400);
  assert.equal((await send('PATCH', 'toys/1', '{}')).status, 200);
  assert.equal((await send('DELETE', 'toys/1')).status, 200);
  assert.equal((await fetch(`${url}/v1/toys`)).status, 401);

  /** @type {any} */
  const { paths } = await (await fetch(`${url}/openapi.json`)).json();
  assert.deepEqual(Object.keys(paths['/toys']), ['post', 'get']);
  assert.deepEqual(Object.keys(paths['/toys/{id}']), ['get', 'patch', 'delete']);
}
