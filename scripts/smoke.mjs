// @ts-check
// Starts the built service with a new embedded database, sends one request of each kind, and stops the
// service.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../dist/main.js', import.meta.url));
const START_LIMIT_MS = 60_000;
const REQUEST_LIMIT_MS = 10_000;
const STOP_LIMIT_MS = 15_000;
/** From this time on, the deprecated operation returns 410. */
const GET_PET_SUNSET_MS = Date.UTC(2030, 11, 5);
const LARGEST_INT64 = '9223372036854775807';

/**
 * @typedef {{ status: number, headers: Headers, text: string, json: any }} ApiResponse
 * @typedef {{ method?: string, key?: string | undefined, body?: string, headers?: Record<string, string> }} RequestOptions
 */

let failures = 0;

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

/**
 * @param {unknown} actual
 * @param {unknown} expected
 * @param {string} name of the value
 */
function expectEqual(actual, expected, name) {
  const [is, should] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (is !== should) throw new Error(`${name}: ${is}, expected ${should}`);
}

/**
 * @param {unknown} condition
 * @param {string} failure message of the error
 */
function expectTrue(condition, failure) {
  if (!condition) throw new Error(failure);
}

/** @returns {Promise<number>} a free port */
async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no free port');
  return address.port;
}

/** @returns {Record<string, string>} the environment variables without settings of the service */
function plainEnvironment() {
  const kept = ['PATH', 'HOME', 'TMPDIR', 'TEMP', 'TMP', 'SystemRoot', 'USERPROFILE', 'LANG'];
  return Object.fromEntries(
    kept.flatMap((name) => [[name, process.env[name] ?? '']]).filter(([, value]) => value !== ''),
  );
}

/** @param {string} dataDir @returns {{ pid: number, command: string }[]} the PostgreSQL processes that use the folder */
function postgresProcesses(dataDir) {
  if (!existsSync('/proc/self/cwd')) return [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .flatMap((name) => {
      try {
        const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
        const workingDirectory = readlinkSync(`/proc/${name}/cwd`);
        const isOfFolder = workingDirectory.startsWith(dataDir) || command.includes(dataDir);
        return isOfFolder && command.includes('postgres') ? [{ pid: Number(name), command }] : [];
      } catch {
        // The process has ended in the meantime.
        return [];
      }
    });
}

/** @param {string} dataDir @returns {string[]} PID files that a server did not delete */
function remainingPidFiles(dataDir) {
  if (!existsSync(dataDir)) return [];
  return readdirSync(dataDir, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('postmaster.pid'),
  );
}

async function main() {
  const parent = mkdtempSync(join(tmpdir(), 'adoption-store-smoke-'));
  // PostgreSQL does not run as root, so another user must have access to its folder.
  chmodSync(parent, 0o755);
  const dataDir = join(parent, 'data');
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;

  const service = spawn(process.execPath, [MAIN], {
    cwd: parent,
    env: { ...plainEnvironment(), DATA_DIR: dataDir, PORT: String(port), METRICS_PORT: '' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [service.stdout, service.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      output += text;
    });
  }
  const ended = once(service, 'exit');

  try {
    await check('the service starts and becomes ready', () => waitUntilReady(origin, service));
    if (failures === 0) await checkResponses(origin, () => output);
    await check('SIGTERM stops the service with exit code 0', async () => {
      const startedAt = Date.now();
      service.kill('SIGTERM');
      const [code, signal] = await Promise.race([
        ended,
        delay(STOP_LIMIT_MS, ['none', null], { ref: false }),
      ]);
      expectEqual(
        [code, signal],
        process.platform === 'win32' ? [null, 'SIGTERM'] : [0, null],
        'the exit code and signal',
      );
      expectTrue(Date.now() - startedAt < STOP_LIMIT_MS, 'the shutdown took too long');
    });
    if (process.platform !== 'win32') {
      await check('no PostgreSQL process remains', () => {
        expectEqual(
          postgresProcesses(dataDir).map(({ command }) => command),
          [],
          'the processes',
        );
        expectEqual(remainingPidFiles(dataDir), [], 'the files');
      });
    }
  } finally {
    service.kill('SIGKILL');
    for (const { pid } of postgresProcesses(dataDir)) process.kill(pid, 'SIGKILL');
    rmSync(parent, { recursive: true, force: true, maxRetries: 5 });
  }
  if (failures > 0) {
    console.log(`\nOutput of the service:\n${withoutApiKeys(output)}`);
    console.log(`${failures} failed`);
    process.exitCode = 1;
  }
}

/**
 * @param {string} origin
 * @param {import('node:child_process').ChildProcess} service
 */
async function waitUntilReady(origin, service) {
  const deadline = Date.now() + START_LIMIT_MS;
  for (;;) {
    expectTrue(service.exitCode === null && service.signalCode === null, 'the service has ended');
    const status = await fetch(`${origin}/health/ready`, {
      signal: AbortSignal.timeout(2_000),
    }).then(
      async (response) => {
        await response.arrayBuffer();
        return response.status;
      },
      () => undefined,
    );
    if (status === 200) return;
    expectTrue(
      Date.now() < deadline,
      `not ready within ${START_LIMIT_MS / 1000} s (${status ?? 'no response'})`,
    );
    await delay(100);
  }
}

/**
 * @param {string} origin
 * @param {() => string} output the output of the service so far
 */
async function checkResponses(origin, output) {
  /** @type {string | undefined} */
  let demoKey;
  await check('the service prints an API key at its start', async () => {
    for (const deadline = Date.now() + 5_000; Date.now() < deadline && !demoKey; await delay(50)) {
      demoKey = /aas_[0-9A-Za-z]{36}/.exec(output())?.[0];
    }
    expectTrue(demoKey, 'the output contains no API key');
  });
  if (demoKey === undefined) return;

  /**
   * @param {string} path
   * @param {RequestOptions} [options]
   * @returns {Promise<ApiResponse>}
   */
  const send = async (path, { method = 'GET', key = demoKey, body, headers = {} } = {}) => {
    const received = await fetch(`${origin}${path}`, {
      method,
      signal: AbortSignal.timeout(REQUEST_LIMIT_MS),
      headers: {
        ...(key !== undefined && key !== '' && { authorization: `Bearer ${key}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body }),
    });
    const text = await received.text();
    const isJson = /^application\/json\b/.test(received.headers.get('content-type') ?? '');
    const response = {
      status: received.status,
      headers: received.headers,
      text,
      json: isJson && text !== '' ? JSON.parse(text) : undefined,
    };
    expectTrue(response.headers.get('x-request-id'), `${path} has no X-Request-Id`);
    if (path.startsWith('/v1')) checkLimitHeaders(response);
    return response;
  };

  /**
   * Checks that the response is an Error with the status and the code.
   *
   * @param {Promise<ApiResponse>} request
   * @param {number} status
   * @param {string} code
   */
  const expectError = async (request, status, code) => {
    const response = await request;
    expectEqual(response.status, status, 'status');
    expectEqual(
      Object.keys(response.json ?? {}).sort(),
      ['code', 'message', 'status'],
      'the members',
    );
    expectEqual([response.json.code, response.json.status], [code, status], 'the error');
    expectTrue(
      typeof response.json.message === 'string' && response.json.message !== '',
      'no message',
    );
    return response;
  };

  let etag = '';
  await check('list: 200 and animals', async () => {
    const response = await send('/v1/pets?limit=2');
    expectEqual(response.status, 200, 'status');
    expectTrue(Array.isArray(response.json) && response.json.length > 0, 'no sample animals');
    for (const pet of response.json) {
      expectEqual(Object.keys(pet).sort(), ['categoryId', 'id', 'name', 'status'], 'the members');
    }
    etag = response.headers.get('etag') ?? '';
    expectTrue(etag, 'no ETag');
  });
  await check('list: 304 with If-None-Match', async () => {
    const response = await send('/v1/pets?limit=2', { headers: { 'if-none-match': etag } });
    expectEqual(
      [response.status, response.text, response.headers.get('etag')],
      [304, '', etag],
      'the response',
    );
  });

  let id = '';
  await check('create: 201, exact int64', async () => {
    const body = `{"name":"Smoke","categoryId":${LARGEST_INT64},"status":"pending"}`;
    const response = await send('/v1/pets', { method: 'POST', body });
    expectEqual(response.status, 201, 'status');
    id = /"id":\s*(\d+)/.exec(response.text)?.[1] ?? '';
    expectTrue(id, 'no id');
    expectTrue(response.text.includes(LARGEST_INT64), `categoryId is not exact: ${response.text}`);
    expectEqual([response.json.name, response.json.status], ['Smoke', 'pending'], 'the animal');
  });
  await check('get: the created animal, deprecated', async () => {
    if (Date.now() >= GET_PET_SUNSET_MS) {
      await expectError(send(`/v1/pets/${id}`), 410, 'endpoint_removed');
      return;
    }
    const response = await send(`/v1/pets/${id}`);
    expectEqual(response.status, 200, 'status');
    expectTrue(response.text.includes(LARGEST_INT64), `not the animal: ${response.text}`);
    expectEqual(response.headers.get('deprecation'), '@1795132800', 'Deprecation');
    expectEqual(response.headers.get('sunset'), 'Thu, 05 Dec 2030 00:00:00 GMT', 'Sunset');
  });
  await check('400 for an invalid parameter', () =>
    expectError(send('/v1/pets?limit=0'), 400, 'invalid_request'),
  );
  await check('400 for an empty object', () =>
    expectError(send('/v1/pets', { method: 'POST', body: '{}' }), 400, 'invalid_request'),
  );
  await check('400 for invalid JSON', () =>
    expectError(send('/v1/pets', { method: 'POST', body: '{' }), 400, 'malformed_json'),
  );
  await check('401 without an API key', async () => {
    const response = await expectError(send('/v1/pets', { key: '' }), 401, 'missing_api_key');
    expectTrue(
      response.headers.get('www-authenticate')?.startsWith('Bearer'),
      'no WWW-Authenticate',
    );
  });
  await check('401 with an invalid API key', () =>
    expectError(send('/v1/pets', { key: 'wrong' }), 401, 'invalid_api_key'),
  );
  await check('404 for an unknown path', () =>
    expectError(send('/v1/nothing'), 404, 'route_not_found'),
  );
  if (Date.now() < GET_PET_SUNSET_MS) {
    await check('404 for an unknown animal', () =>
      expectError(send(`/v1/pets/${LARGEST_INT64}`), 404, 'pet_not_found'),
    );
  }
  await check('405 for an unsupported method', async () => {
    const response = await expectError(
      send('/v1/pets', { method: 'DELETE' }),
      405,
      'method_not_allowed',
    );
    expectTrue(/\bGET\b/.test(response.headers.get('allow') ?? ''), 'no Allow');
  });
  for (const state of ['live', 'ready']) {
    await check(`/health/${state}: 200 without an API key`, async () => {
      expectEqual((await send(`/health/${state}`, { key: '' })).status, 200, 'status');
    });
  }
  await check('/openapi.json describes the three operations', async () => {
    const { status, json } = await send('/openapi.json', { key: '' });
    expectEqual(status, 200, 'status');
    expectEqual(json.info.version, '1.0.0', 'version');
    const operations = Object.values(json.paths)
      .flatMap((path) => Object.values(path))
      .map((operation) => operation.operationId);
    const expected =
      Date.now() < GET_PET_SUNSET_MS
        ? ['createPet', 'getPet', 'listPets']
        : ['createPet', 'listPets'];
    expectEqual(operations.sort(), expected, 'the operations');
  });
  await check('/openapi.yaml: 200', async () => {
    expectEqual((await send('/openapi.yaml', { key: '' })).status, 200, 'status');
  });
  await check('/docs: Swagger UI', async () => {
    const { status, text } = await send('/docs', { key: '' });
    expectEqual(status, 200, 'status');
    expectTrue(/swagger/i.test(text), 'no Swagger UI');
  });
}

/** @param {ApiResponse} response */
function checkLimitHeaders({ headers }) {
  const [limit, remaining, reset] = ['Limit', 'Remaining', 'Reset'].map((name) => {
    const value = headers.get(`X-RateLimit-${name}`);
    expectTrue(
      value !== null && /^\d+$/.test(value),
      `X-RateLimit-${name} is ${value ?? 'missing'}`,
    );
    return Number(value);
  });
  expectTrue(Number(remaining) <= Number(limit), 'X-RateLimit-Remaining exceeds X-RateLimit-Limit');
  const now = Date.now() / 1000;
  expectTrue(
    Number(reset) >= now - 1 && Number(reset) <= now + 86_402,
    `X-RateLimit-Reset is ${reset}`,
  );
}

/** @param {string} text */
function withoutApiKeys(text) {
  return text.replace(/aas_[0-9A-Za-z]{36}/g, 'aas_…');
}

await main();
