import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import pg from 'pg';
import { send } from '../harness/http/client.js';
import { useDatabase } from '../harness/database/database.js';
import { freePort } from '../harness/processes/free-port.js';
import { featureFile } from '../harness/http/store.js';
import { until } from '../harness/run/until.js';
import {
  type BuiltService,
  inheritedEnvironment,
  spawnBuiltService,
  startBuiltService,
} from '../harness/service/service.js';

const MAIN = join(__dirname, '../../dist/main.js');
const HARNESS = join(__dirname, '../harness');
/** The level of LOG_LEVEL=debug, as the log has it. */
const DEBUG = 20;
const INFO = 30;
const hasTerminal = spawnSync('script', ['--version']).status === 0;
if (!hasTerminal)
  console.warn('To test the log on a terminal, install script of util-linux (bsdutils).');

const database = useDatabase();

describe('when the output is not a terminal', () => {
  let service: BuiltService;
  beforeAll(async () => {
    service = await startBuiltService({
      DATABASE_URL: database.url,
      DATABASE_PASSWORD: 'secret-1',
      REDIS_URL: 'redis://:secret-2@127.0.0.1:1',
      TRUST_PROXY: '10.0.0.0/8',
      LOG_LEVEL: 'debug',
    });
    await send(service, '/v1/pets');
    await service.stop();
  });

  test('every line is JSON', () => {
    const lines = service.output().trim().split('\n');
    expect(service.logs()).toHaveLength(lines.length);
    expect(
      service
        .logs()
        .filter(({ level }) => level === INFO)
        .map(({ msg }) => msg),
    ).toEqual(['listening', 'request', 'stopping', 'stopped']);
    for (const line of service.logs()) expect(Date.parse(String(line['time']))).toBeGreaterThan(0);
  });

  test('the line of the start shows the version, the database of requests, Redis and the trusted proxies, never a password', () => {
    const { host, port, database: name } = new pg.Client({ connectionString: database.url });
    expect(service.logs().find(({ msg }) => msg === 'listening')).toMatchObject({
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      node: process.version,
      database: `${name} on ${host}:${port}`,
      redis: true,
      trustProxy: ['10.0.0.0/8'],
    });
    expect(service.output()).not.toContain('secret');
  });

  test('LOG_LEVEL debug adds lines', () => {
    expect(service.logs().some(({ level }) => level === DEBUG)).toBe(true);
  });

  test('a database of DATABASE_URL gets no sample animals and no demo owner', async () => {
    expect(
      await database.query(
        'SELECT (SELECT count(*)::int FROM pets) + (SELECT count(*)::int FROM owners) AS rows',
      ),
    ).toEqual([{ rows: 0 }]);
  });
});

test('LOG_LEVEL warn writes nothing while there is no problem', async () => {
  // The log has no line with the address.
  const port = await freePort();
  const env = { DATABASE_URL: database.url, LOG_LEVEL: 'warn', PORT: String(port) };
  const quiet = spawnBuiltService(env);
  const live = () => send({ url: `http://127.0.0.1:${port}` }, '/health/live');
  await until(() =>
    live().then(
      () => true,
      () => false,
    ),
  );
  expect([await quiet.stop(), quiet.output()]).toEqual([0, '']);
});

test('a feature without its package ends the process with 1, and the log says which one', async () => {
  const options = ['--import', pathToFileURL(join(HARNESS, 'service/add-features.mjs')).href];
  const features = pathToFileURL(featureFile('missing-package')).href;
  const env = { DATABASE_URL: database.url, TEST_FEATURES: features };
  const service = spawnBuiltService(env, MAIN, [process.execPath, ...options]);
  const [code] = (await once(service.process, 'close')) as [number];
  expect([code, service.logs()]).toEqual([
    1,
    [
      expect.objectContaining({
        context: 'PackageLoader',
        msg: expect.stringContaining('@nestjs/platform-ws') as string,
      }),
    ],
  ]);
});

(hasTerminal ? test : test.skip)(
  'on a terminal, the start ends with the curl command, each request is one line, and ^C stops the service',
  async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'terminal-'));
    // The server's operating system user, if any, needs access to the folder.
    chmodSync(dataDir, 0o755);
    const child = spawn('script', ['-qec', `exec '${process.execPath}' '${MAIN}'`, '/dev/null'], {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: {
        ...inheritedEnvironment(),
        PORT: '0',
        METRICS_PORT: '',
        DATA_DIR: dataDir,
        TERM: 'xterm',
      },
    });

    const lines: string[] = [];
    for await (const line of createInterface({ input: child.stdout })) {
      // Without the colours and the echo of ^C.
      lines.push(line.replaceAll(/\p{Cc}\[\d+m/gu, '').replace(/^\^C/, ''));
      const [, key = '', url] = /curl .*Bearer (\w+)' (.*)\/v1\/pets/.exec(line) ?? [];
      if (url === undefined) continue;
      await send({ url }, '/health/live');
      await send({ url }, '/v1/pets?limit=1', { headers: { Authorization: `Bearer ${key}` } });
      await send({ url }, '/v1/pets/1%0AINFO%1B%5B31m');
      const create = { 'Idempotency-Key': 'a', 'Content-Type': 'application/json' };
      for (let count = 0; count < 2; count++) {
        await send({ url }, '/v1/pets', {
          method: 'POST',
          headers: { Authorization: `Bearer ${key}`, ...create },
          body: '{"name":"Momo","categoryId":2}',
        });
      }
      child.stdin.write('\x03');
    }
    rmSync(dataDir, { recursive: true });
    const time = /^\[\d\d:\d\d:\d\d\.\d{3}\] /;
    expect(lines.filter((line) => line !== '').map((line) => line.replace(time, '… '))).toEqual([
      expect.stringMatching(/^… INFO: schema migrated /),
      expect.stringMatching(/^… INFO: listening .*http:\/\/127\.0\.0\.1:\d+/),
      expect.stringMatching(/^The animal adoption store: /),
      expect.stringMatching(/^Documentation: /),
      'Try it:',
      expect.stringMatching(/^ {2}curl -H /),
      expect.stringMatching(/^… INFO: GET \/v1\/pets 200 \d+\.\d ms$/),
      expect.stringMatching(
        /^… INFO: GET \/v1\/pets\/1%0AINFO%1B%5B31m 401 missing_api_key \d+\.\d ms$/,
      ),
      expect.stringMatching(/^… INFO: POST \/v1\/pets 201 \d+\.\d ms$/),
      expect.stringMatching(/^… INFO: POST \/v1\/pets 201 replayed \d+\.\d ms$/),
      expect.stringMatching(/^… INFO: stopping/),
      '… INFO: stopped',
    ]);
    expect(child.exitCode ?? ((await once(child, 'exit')) as [number])[0]).toBe(0);
  },
);
