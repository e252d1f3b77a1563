import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { join } from 'node:path';
import { SAMPLE_ANIMALS } from '../../src/pets/sample-animals.js';
import { PRODUCT } from '../../src/product.js';
import { unknownKey } from '../harness/database/api-keys.js';
import { Chromium, findChromium } from '../harness/processes/chromium.js';
import { Cli } from '../harness/processes/command.js';
import {
  EmbeddedUser,
  makeCluster,
  makeFolder,
  query,
} from '../harness/processes/embedded-user.js';
import { ApiClient, type ApiResponse, send } from '../harness/http/client.js';
import { openOperation } from '../harness/processes/swagger-ui.js';
import { RawConnection } from '../harness/http/raw-connection.js';
import {
  type BuiltService,
  spawnBuiltService,
  startBuiltService,
  TEAM_MAIN,
} from '../harness/service/service.js';

const chromium = findChromium();
const LIST = '#operations-Pets-listPets';

// The order matters: each test continues with the state of the previous one.
describe('with only DATA_DIR set, from the first start', () => {
  let dataDir: string;
  let cli: Cli;
  let keyFile: string;
  let service: BuiltService;
  /** The demo owner's key. */
  let key: string;

  beforeAll(async () => {
    dataDir = makeFolder();
    await makeCluster(dataDir);
    cli = new Cli({ DATA_DIR: dataDir }, { app: true, isOpenElsewhere: true });
    keyFile = join(dataDir, 'demo-key');
    // A command adds no demo data.
    const user = new EmbeddedUser(dataDir, 'command');
    await user.opened();
    await cli.json('db', 'migrate');
    expect(await cli.json('keys', 'list')).toEqual([]);
    await user.close();
  });
  afterEach(async () => {
    expect(await service.stop()).toBe(0);
    // The service has stopped its database server.
    expect(existsSync(join(dataDir, 'postgres/postmaster.pid'))).toBe(false);
  });

  async function start(): Promise<void> {
    service = await startBuiltService({ DATA_DIR: dataDir }, TEAM_MAIN);
  }
  const list = (withKey: string): Promise<ApiResponse> =>
    new ApiClient(service, withKey).get('/v1/pets?limit=100');
  const sql = (text: string) => {
    const connection = {
      host: join(dataDir, 'postgres'),
      port: 5432,
      user: PRODUCT.database,
      password: '',
    };
    return query({ connection: { ...connection, database: PRODUCT.database } }, text);
  };
  const docs = async (): Promise<string> => {
    const headers = { Host: `127.0.0.1:${new URL(service.url).port}` };
    return (await send(service, '/docs', { headers })).text;
  };

  /** Returns the status that the first click on Execute shows in Swagger UI. */
  async function firstExecute(command: string): Promise<unknown> {
    const browser = await Chromium.start(command);
    await browser.open(`${service.url}/docs`);
    await openOperation(browser, LIST);
    await browser.click(`${LIST} .execute`);
    const status = `${LIST} .live-responses-table .response .response-col_status`;
    await browser.waitFor(status);
    const text = await browser.evaluate(`document.querySelector('${status}').innerText.trim()`);
    await browser.close();
    return text;
  }

  test('a start that cannot write the key, or that was interrupted after it, is completed by the next one', async () => {
    // A folder instead of the file.
    mkdirSync(join(keyFile, 'in-the-way'), { recursive: true });
    const failing = spawnBuiltService({ DATA_DIR: dataDir }, TEAM_MAIN);
    expect(await once(failing.process, 'exit')).toEqual([1, null]);
    rmSync(keyFile, { recursive: true });
    writeFileSync(keyFile, `${unknownKey()}\n`, { mode: 0o644 });
    await start();
    expect((await send(service, '/health/ready')).status).toBe(200);
    key = readFileSync(keyFile, 'utf8').trim();
    expect(service.output()).not.toContain(PRODUCT.keyPrefix);
    const { mode, uid } = statSync(keyFile);
    expect({ mode: mode & 0o777, uid }).toEqual({ mode: 0o600, uid: process.getuid?.() ?? uid });
    const { status, json } = await list(key);
    expect([status, json.length]).toEqual([200, SAMPLE_ANIMALS.length]);
    expect(new Set(json.map((pet: { status: string }) => pet.status)).size).toBe(3);
    const inspected = await cli.json('keys', 'inspect', key);
    expect(inspected).toMatchObject({ owner: 'demo', plan: 'business', status: 'active' });
    expect(await docs()).toContain(key);
  });

  test('a later start keeps the key and adds nothing, and GET /docs shows the key to a browser on this machine only, which fills it in', async () => {
    await start();
    expect((await list(key)).json).toHaveLength(SAMPLE_ANIMALS.length);
    const port = Number(new URL(service.url).port);
    const get = 'GET /docs HTTP/1.1';
    const own = `Host: 127.0.0.1:${port}`;
    /** Returns whether the response to a request of these lines contains the key. */
    const hasKey = async (...lines: string[]): Promise<boolean> => {
      const head = [...lines, 'Connection: close', '', ''].join('\r\n');
      const { status, text } = await RawConnection.exchange({ port }, head);
      expect(status).toBe(200);
      return text.includes(key);
    };
    for (const lines of [
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
        '127.0.0.1',
        'localhost',
        'localhost:80',
        `127.0.0.2:${port}`,
        `192.0.2.1:${port}`,
        `pets.example:${port}`,
        `localhost.pets.example:${port}`,
        `localhost:${port}0`,
      ].map((host) => [get, `Host: ${host}`]),
      ...[
        'Origin: https://app.example.org',
        `Origin: http://127.0.0.1:${port}`,
        'Sec-Fetch-Site: cross-site',
        'Sec-Fetch-Site: same-site',
        'Via: 1.1 proxy',
        'Forwarded: for=192.0.2.1',
        'X-Forwarded-For: 192.0.2.1',
        'X-Real-IP: 192.0.2.1',
        'True-Client-IP: 192.0.2.1',
        'CF-Connecting-IP: 192.0.2.1',
        'CDN-Loop: cdn.example',
        'Fastly-Client-IP: 192.0.2.1',
        'Proxy-Connection: keep-alive',
      ].map((header) => [get, own, header]),
    ])
      expect([lines, await hasKey(...lines)]).toEqual([lines, false]);
    if (chromium !== undefined) expect(await firstExecute(chromium)).toMatch(/^200/);
    await sql('UPDATE api_keys SET revoked_at = now(); DELETE FROM pets');
  });

  test('removed animals do not come back, and it offers no key that is revoked, but says how to issue one', async () => {
    await start();
    const page = await docs();
    expect(page).toContain(`${PRODUCT.command} keys issue`);
    expect(page).not.toContain(PRODUCT.keyPrefix);
    const { key: another } = await cli.json('keys', 'issue', '--owner', 'demo');
    expect(await list(another)).toMatchObject({ status: 200, json: [] });
    expect(await sql('SELECT name FROM owners')).toEqual([{ name: 'demo' }]);
  });
});
