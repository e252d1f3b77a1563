import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { welcomeText } from '../src/demo/welcome.js';
import { Cli } from './harness/processes/command.js';
import { makeCluster } from './harness/processes/embedded-user.js';
import { ApiClient, send } from './harness/http/client.js';
import { RawConnection } from './harness/http/raw-connection.js';
import {
  type BuiltService,
  spawnBuiltService,
  startBuiltService,
} from './harness/service/service.js';

/** Long enough for several tests at a time on a slow machine. */
const FIRST_START_MS = 20_000;
const LATER_START_MS = 10_000;

const folders: string[] = [];
let service: BuiltService | undefined;

afterEach(async () => {
  await service?.stop();
  service = undefined;
});

afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'demo-'));
  // The server's operating system user, if any, needs access to the folder.
  chmodSync(folder, 0o755);
  folders.push(folder);
  return folder;
}

/** Starts the service. Returns its address. */
async function start(dataDir: string, env: Record<string, string> = {}): Promise<string> {
  service = await startBuiltService({ DATA_DIR: dataDir, ...env });
  return service.url;
}

function keyIn(dataDir: string): string {
  return readFileSync(join(dataDir, 'demo-key'), 'utf8').trim();
}

/** Stops the service and its database server. */
async function stopAll(dataDir: string): Promise<void> {
  expect(await service?.stop()).toBe(0);
  expect(existsSync(join(dataDir, 'postgres/postmaster.pid'))).toBe(false);
}

// The order matters: each test continues with the state of the previous one.
describe('with only DATA_DIR set, from the first start', () => {
  let dataDir: string;
  let cli: Cli;
  let keyFile: string;
  /** The demo owner's key. */
  let key: string;
  let keyId: string;
  beforeAll(() => {
    dataDir = makeFolder();
    cli = new Cli({ DATA_DIR: dataDir });
    keyFile = join(dataDir, 'demo-key');
  });

  test('the service has animals and a demo owner, stores its key in a private file and not in the log, and shows it in /docs to a browser on this machine only', async () => {
    const startedAt = performance.now();
    const url = await start(dataDir);
    expect(performance.now() - startedAt).toBeLessThan(FIRST_START_MS);
    expect((await send({ url }, '/health/ready')).status).toBe(200);
    key = keyIn(dataDir);
    expect(service?.output()).not.toContain('aas_');
    const { mode, uid } = statSync(keyFile);
    expect({ mode: mode & 0o777, uid }).toEqual({ mode: 0o600, uid: process.getuid?.() ?? uid });

    const { status, json } = await new ApiClient({ url }, key).get('/v1/pets');
    expect(status).toBe(200);
    expect(json.length).toBeGreaterThanOrEqual(5);
    expect(new Set(json.map((pet: { status: string }) => pet.status)).size).toBe(3);
    const inspected = await cli.json('keys', 'inspect', key);
    expect(inspected).toMatchObject({ owner: 'demo', plan: 'business', status: 'active' });
    keyId = String(inspected.id);

    const port = Number(new URL(url).port);
    const own = `Host: 127.0.0.1:${port}`;
    /** Returns whether the response to a request of these lines contains the key. */
    const hasKey = async (...lines: string[]): Promise<boolean> => {
      const head = [...lines, 'Connection: close', '', ''].join('\r\n');
      const { status, text } = await RawConnection.exchange({ port }, head);
      expect(status).toBe(200);
      return text.includes(key);
    };
    const get = 'GET /docs HTTP/1.1';
    for (const lines of [
      [get, own],
      [get, `Host: localhost:${port}`],
      ['GET /docs?x=1 HTTP/1.1', own],
      [get, own, 'Sec-Fetch-Site: none'],
      [get, own, 'Sec-Fetch-Site: same-origin'],
      [get, own, 'Accept-Encoding: gzip', 'User-Agent: x', 'Sec-Fetch-Mode: navigate'],
    ])
      expect([lines, await hasKey(...lines)]).toEqual([lines, true]);
    for (const lines of [
      ['GET /docs HTTP/1.0', own],
      [`GET http://127.0.0.1:${port}/docs HTTP/1.1`, own],
      ...[
        ...['127.0.0.1', 'localhost', 'localhost:80', `127.0.0.2:${port}`, `[::2]:${port}`],
        ...[`192.0.2.1:${port}`, `pets.example:${port}`, `localhost.pets.example:${port}`],
        ...[`127.0.0.1.pets.example:${port}`, `localhost:${port}0`],
      ].map((host) => [get, `Host: ${host}`]),
      ...[
        ...['Origin: https://app.example.org', `Origin: http://127.0.0.1:${port}`],
        ...['Sec-Fetch-Site: cross-site', 'Sec-Fetch-Site: same-site', 'Via: 1.1 proxy'],
        ...['Forwarded: for=192.0.2.1', 'X-Forwarded-For: 192.0.2.1', 'X-Forwarded-Proto: https'],
        ...['X-Forwarded-Host: pets.example', 'X-Real-IP: 192.0.2.1', 'X-Client-IP: 192.0.2.1'],
        ...['X-Request-Id: 1', 'X-Amzn-Trace-Id: Root=1', 'X-Envoy-External-Address: 192.0.2.1'],
        ...['True-Client-IP: 192.0.2.1', 'CF-Connecting-IP: 192.0.2.1', 'CDN-Loop: cdn.example'],
        ...['Fastly-Client-IP: 192.0.2.1', 'Proxy-Connection: keep-alive'],
      ].map((header) => [get, own, header]),
    ])
      expect([lines, await hasKey(...lines)]).toEqual([lines, false]);
    await stopAll(dataDir);
  }, 60_000);

  test.each([{ TRUST_PROXY: '1' }, { PUBLIC_URL: 'http://127.0.0.1' }, { HOST: '0.0.0.0' }])(
    'a later start keeps the key and adds nothing, and with %p, GET /docs › 200 without the key',
    async (env) => {
      const startedAt = performance.now();
      const url = await start(dataDir, env);
      expect(performance.now() - startedAt).toBeLessThan(LATER_START_MS);
      expect(keyIn(dataDir)).toBe(key);
      expect((await new ApiClient({ url }, key).get('/v1/pets?limit=100')).json).toHaveLength(6);
      expect(await cli.json('owners', 'list')).toHaveLength(1);
      const headers = { Host: `127.0.0.1:${new URL(url).port}` };
      const { text } = await send({ url }, '/docs', { headers });
      expect(text).toContain('pets keys issue');
      expect(text).not.toContain(key);
      await stopAll(dataDir);
    },
  );

  test.each([
    ['the file is missing', () => rmSync(keyFile)],
    ['the file contains no key', () => writeFileSync(keyFile, 'nonsense\n')],
    ['the key is revoked', () => writeFileSync(keyFile, `${key}\n`)],
  ])('it offers no key when %s, and `keys issue` creates one', async (title, change) => {
    change();
    const url = await start(dataDir);
    const host = { Host: `127.0.0.1:${new URL(url).port}` };
    expect((await send({ url }, '/docs', { headers: host })).text).not.toContain('aas_');
    const { key: another } = await cli.json('keys', 'issue', '--owner', 'demo');
    expect((await new ApiClient({ url }, another).get('/v1/pets')).status).toBe(200);
    // For the last row, while there is a server.
    if (title === 'the file contains no key') await cli.json('keys', 'revoke', keyId);
  });
});

test.each([
  ['127.0.0.1', '127.0.0.1'],
  ['0.0.0.0', '127.0.0.1'],
  ['[::1]', '[::1]'],
  ['[::]', '[::1]'],
])('with a listener on %s, the welcome text has an address to call: %s', (listens, called) => {
  const text = welcomeText(`http://${listens}:3000`, 'aas_key');
  expect(text.match(/http:[^/]*\/\/[^/\s]+/g)).toEqual(Array(3).fill(`http://${called}:3000`));
});

test('without a valid key, the welcome text has the command that issues one', () => {
  const text = welcomeText('http://127.0.0.1:3000', null);
  expect(text).toContain('\n  npm run cli -- keys issue --owner demo\n');
});

describe('an interrupted start', () => {
  test('between the key file and the commit is completed by the next start', async () => {
    const dataDir = makeFolder();
    await makeCluster(dataDir);
    writeFileSync(join(dataDir, 'demo-key'), 'aas_keyOfTheStartThatNeverCommitted0000000\n', {
      mode: 0o644,
    });
    const url = await start(dataDir);
    expect((await new ApiClient({ url }, keyIn(dataDir)).get('/v1/pets')).status).toBe(200);
    expect(statSync(join(dataDir, 'demo-key')).mode & 0o777).toBe(0o600);
  });

  test('that cannot write the key adds nothing, and the next start adds everything', async () => {
    const dataDir = makeFolder();
    await makeCluster(dataDir);
    // A folder instead of the file.
    mkdirSync(join(dataDir, 'demo-key/in-the-way'), { recursive: true });
    service = undefined;
    const failing = spawnBuiltService({ DATA_DIR: dataDir });
    expect(await new Promise((resolve) => failing.process.once('exit', resolve))).toBe(1);
    rmSync(join(dataDir, 'demo-key'), { recursive: true });
    const url = await start(dataDir);
    expect((await new ApiClient({ url }, keyIn(dataDir)).get('/v1/pets')).status).toBe(200);
  });
});
