// @ts-check
// Starts the built service with a new embedded database, sends one request of each kind, and stops the
// service. Needs no test framework, so that it runs on every system.
import { strict as assert } from 'node:assert';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../dist/main.js', import.meta.url));
const START_LIMIT_MS = 60_000;
const REACTION_LIMIT_MS = 15_000;
/** From this time on, the deprecated operation returns 410. */
const GET_PET_SUNSET_MS = Date.UTC(2030, 11, 5);
const LARGEST_INT64 = '9223372036854775807';
const WITHOUT_SERVERS = { DATABASE_URL: '', REDIS_URL: '', METRICS_PORT: '' };

const ERRORS = /** @type {const} */ ([
  [400, 'invalid_request', '/v1/pets?limit=0', {}],
  [400, 'invalid_request', '/v1/pets', { method: 'POST', body: '{}' }],
  [400, 'malformed_json', '/v1/pets', { method: 'POST', body: '{' }],
  [401, 'missing_api_key', '/v1/pets', { key: '' }],
  [401, 'invalid_api_key', '/v1/pets', { key: 'wrong' }],
  [404, 'route_not_found', '/v1/nothing', {}],
  [405, 'method_not_allowed', '/v1/pets', { method: 'DELETE' }],
]);

let failures = 0;
let output = '';

const parent = mkdtempSync(join(tmpdir(), 'adoption-store-smoke-'));
// PostgreSQL does not run as root, so another user must have access to its folder.
chmodSync(parent, 0o755);
const dataDir = join(parent, 'data');
const service = spawn(process.execPath, [MAIN], {
  cwd: parent,
  env: { ...process.env, ...WITHOUT_SERVERS, DATA_DIR: dataDir, PORT: '0' },
  stdio: ['ignore', 'pipe', 'pipe'],
});
for (const stream of [service.stdout, service.stderr]) {
  stream.setEncoding('utf8').on('data', (text) => (output += text));
}
const ended = once(service, 'exit');
try {
  let url = '';
  await check('the service starts and logs its address', async () => {
    url = await readAddress();
  });
  if (url !== '') await checkResponses(url, readFileSync(join(dataDir, 'demo-key'), 'utf8').trim());
  await check('SIGTERM stops the service with exit code 0', async () => {
    service.kill('SIGTERM');
    const exit = await Promise.race([ended, delay(REACTION_LIMIT_MS, 'none', { ref: false })]);
    assert.deepEqual(exit, process.platform === 'win32' ? [null, 'SIGTERM'] : [0, null]);
  });
  if (process.platform !== 'win32') {
    await check('the service has stopped PostgreSQL', () => {
      const files = readdirSync(dataDir, { recursive: true, encoding: 'utf8' });
      assert.ok(!files.some((name) => name.endsWith('postmaster.pid')));
    });
  }
} finally {
  service.kill('SIGKILL');
  rmSync(parent, { recursive: true, force: true, maxRetries: 5 });
}
if (failures > 0) {
  console.log(`\nOutput of the service:\n${output.replace(/aas_\w+/g, 'aas_…')}${failures} failed`);
  process.exitCode = 1;
}

/**
 * Runs one check and prints its line.
 *
 * @param {string} name
 * @param {() => unknown} run throws if the check fails
 */
async function check(name, run) {
  try {
    await run();
    console.log(`ok      ${name}`);
  } catch (error) {
    failures += 1;
    console.log(`FAILED  ${name}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** @returns {Promise<string>} the address that the service logs when it is ready */
async function readAddress() {
  for (const deadline = Date.now() + START_LIMIT_MS; Date.now() < deadline; await delay(50)) {
    const [, address] = /"address":"([^"]+)".*"msg":"listening"/.exec(output) ?? [];
    if (address !== undefined) return address;
    assert.equal(service.exitCode ?? service.signalCode, null, 'the service has ended');
  }
  throw new Error(`not ready within ${START_LIMIT_MS / 1_000} s`);
}

/** @param {string} url @param {string} demoKey */
async function checkResponses(url, demoKey) {
  /** @param {string} path @param {{ method?: string, key?: string, body?: string, etag?: string }} [options] */
  const send = async (path, { method = 'GET', key = demoKey, body, etag } = {}) => {
    const response = await fetch(`${url}${path}`, {
      method,
      signal: AbortSignal.timeout(REACTION_LIMIT_MS),
      headers: {
        ...(key !== '' && { authorization: `Bearer ${key}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(etag !== undefined && { 'if-none-match': etag }),
      },
      ...(body !== undefined && { body }),
    });
    const { status, headers } = response;
    assert.ok(headers.get('x-request-id'), `${path} has no X-Request-Id`);
    for (const name of path.startsWith('/v1') ? ['Limit', 'Remaining', 'Reset'] : []) {
      assert.match(headers.get(`X-RateLimit-${name}`) ?? '', /^\d+$/);
    }
    return { status, headers, text: await response.text() };
  };

  await check('list: 200 and animals, then 304 with If-None-Match', async () => {
    const { status, text, headers } = await send('/v1/pets?limit=2');
    assert.equal(status, 200);
    assert.match(text, /^\[\{"id":\d+,"name":"\w+","categoryId":\d+,"status":"\w+"\},/);
    const etag = headers.get('etag') ?? '';
    const again = await send('/v1/pets?limit=2', { etag });
    assert.deepEqual([again.status, again.text, again.headers.get('etag')], [304, '', etag]);
  });
  await check('create: 201, exact int64, then get', async () => {
    const body = `{"name":"Smoke","categoryId":${LARGEST_INT64},"status":"pending"}`;
    const { status, text } = await send('/v1/pets', { method: 'POST', body });
    assert.equal(status, 201);
    const id = /"id":\s*(\d+)/.exec(text)?.[1];
    assert.equal(text, `{"id":${id},${body.slice(1)}`);
    const read = await send(`/v1/pets/${id}`);
    if (Date.now() < GET_PET_SUNSET_MS) assert.deepEqual([read.status, read.text], [200, text]);
    else assert.equal(read.status, 410);
  });
  for (const [status, code, path, options] of ERRORS) {
    await check(
      `${'method' in options ? options.method : 'GET'} ${path}: ${status} ${code}`,
      async () => {
        const { message, ...others } = JSON.parse((await send(path, options)).text);
        assert.deepEqual([typeof message, others], ['string', { code, status }]);
      },
    );
  }
  for (const path of ['/health/live', '/health/ready', '/openapi.json', '/openapi.yaml', '/docs']) {
    await check(`GET ${path}: 200 without an API key`, async () => {
      assert.equal((await send(path, { key: '' })).status, 200);
    });
  }
}
