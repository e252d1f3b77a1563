import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { useStore } from '../harness/http/store.js';
import { Chromium, findChromium } from '../harness/processes/chromium.js';
import { freePort } from '../harness/processes/free-port.js';
import { readProjectFile } from '../harness/stack/compose-file.js';
import { addPets, createPets, newAnimal } from '../harness/database/animals.js';

const CLIENT = join(__dirname, '../../examples/client');
/** The property that the page shows: the first one, a text. */
const [SHOWN = ''] = Object.keys(newAnimal());
const EVALUATE = ['--input-type=module', '-e'];
const run = promisify(execFile);

let port = 0;
const store = useStore(async () => {
  port = await freePort();
  return { app: true, env: { CORS_ORIGINS: `http://localhost:${port}` } };
});

/** Runs a program that has a client. Returns what it returns; a bigint as text. */
async function withClient(program: string): Promise<unknown> {
  const { service, owner } = store;
  const code = `
    import { createClient, listPages } from ${JSON.stringify(pathToFileURL(join(CLIENT, 'client.mjs')).href)};
    const client = createClient(process.argv[1], process.argv[2]);
    const result = await (async () => { ${program} })();
    const asText = (_name, value) => (typeof value === 'bigint' ? String(value) : value);
    console.log(JSON.stringify(result, asText));`;
  const { stdout } = await run(process.execPath, [...EVALUATE, code, service.url, owner.key]);
  return JSON.parse(stdout);
}

describe('the client', () => {
  beforeAll(() => createPets(store.database, 250, (index) => (index % 2 ? 'pending' : 'sold')));

  test('walks all pages, with a filter', async () => {
    const program = (filter: string): string => `
      const pages = [];
      for await (const page of listPages(client, ${filter})) pages.push(page.length);
      return pages;`;
    expect(await withClient(program('{}'))).toEqual([100, 100, 50]);
    expect(await withClient(program("{ status: 'sold', limit: 70 }"))).toEqual([70, 55]);
  });

  test('its program adds an animal, and lists the available ones', async () => {
    const env = { ...process.env, STORE_URL: store.service.url, API_KEY: store.owner.key };
    const { stdout } = await run(process.execPath, [join(CLIENT, 'program.mjs')], { env });
    expect(stdout).toMatch(/^\d+ Frank\n$/);
  });

  test('keeps every digit of an int64, and reads an error', async () => {
    const result = await withClient(
      `const body = { ...${JSON.stringify(newAnimal())}, categoryId: 9223372036854775807n };
       const { data } = await client.POST('/pets', { body });
       const { error } = await client.POST('/pets', { body: { ...body, status: '' } });
       return { data, code: error.code };`,
    );
    expect(result).toMatchObject({
      data: { id: expect.stringMatching(/^\d+$/), categoryId: '9223372036854775807' },
      code: 'invalid_request',
    });
  });

  test('lists and gets an id beyond 2^53, which openapi-fetch alone rounds', async () => {
    const id = '9007199254740993';
    await addPets(store.database, [{ id }]);
    const result = await withClient(
      `let last;
       for await (const page of listPages(client)) last = page.at(-1).id;
       const read = (from, petId) => from.GET('/pets/{petId}', { params: { path: { petId } } });
       const { default: createOpenApiClient } = await import('openapi-fetch');
       const alone = createOpenApiClient({
         baseUrl: process.argv[1] + '/v1',
         headers: { Authorization: 'Bearer ' + process.argv[2] },
       });
       const ids = [(await read(client, ${id}n)).data.id, (await read(alone, '${id}')).data.id];
       return [last, ...ids];`,
    );
    expect(result).toEqual([id, id, 2 ** 53]);
  });
});

const command = findChromium();
(command === undefined ? test.skip : test)(
  'the page lists all available animals in a browser, from a listed origin',
  async () => {
    await createPets(store.database, 30);
    await store.api.post('/v1/pets', newAnimal({ [SHOWN]: '<b>Max</b>' }));
    const { json } = await store.api.get('/v1/pets?status=available&limit=100');
    const page = readProjectFile('examples/client/animals.html')
      .replace('http://127.0.0.1:3000', store.service.url)
      .replace('API_KEY', store.owner.key);
    const server = createServer((_request, response) => {
      response.setHeader('Content-Type', 'text/html').end(page);
    }).listen(port);
    const browser = await Chromium.start(command ?? '');
    await browser.open(`http://localhost:${port}`);
    for (let shown = 20; shown < json.length; shown += 20) {
      await browser.waitFor(`li:nth-child(${shown})`);
      await browser.click('button:not([hidden])');
    }
    await browser.waitFor(`li:nth-child(${json.length})`);
    await browser.waitFor('p:empty + button[hidden]');
    const names = `[...document.querySelectorAll('li')].map((li) => li.innerText)`;
    expect(await browser.evaluate(names)).toEqual(
      json.map((pet: Record<string, unknown>) => pet[SHOWN]),
    );
    // Not the origin of CORS_ORIGINS.
    await browser.open(`http://127.0.0.1:${port}`);
    await browser.waitFor('button:not([hidden])');
    const state = await browser.evaluate(`document.querySelector('p').innerText`);
    await browser.close();
    await once(server.close(), 'close');
    expect(state).toBe('The animals cannot be loaded: Failed to fetch');
  },
);

test('the proxy of the page for clients passes the list, and nothing else', async () => {
  const [, code = ''] = /^\/\/ proxy\.mjs\n([^]*?)```/m.exec(readProjectFile('docs/clients.md'))!;
  const proxyPort = await freePort();
  const env = { ...process.env, STORE_URL: store.service.url, API_KEY: store.owner.key };
  const listening = code.replace('8080', `${proxyPort}, () => console.log()`);
  const proxy = spawn(process.execPath, [...EVALUATE, listening], { env });
  await once(proxy.stdout, 'data');
  const call = (path: string, init?: RequestInit) =>
    fetch(`http://127.0.0.1:${proxyPort}${path}`, init);
  const page = await call('/pets?limit=2');
  expect(await page.json()).toEqual((await store.api.get('/v1/pets?limit=2')).json);
  expect(page.headers.get('Link')).toMatch(/rel="next"/);
  const headers = { 'If-None-Match': String(page.headers.get('ETag')) };
  expect(await call('/pets?limit=2', { headers })).toHaveProperty('status', 304);
  expect(await call('/pets?limit=0')).toHaveProperty('status', 400);
  expect(await call('/pets/1')).toHaveProperty('status', 404);
  expect(await call('/pets', { method: 'POST', body: '{}' })).toHaveProperty('status', 404);
  proxy.kill();
});
