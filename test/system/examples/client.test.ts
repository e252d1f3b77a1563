import { execFile } from 'node:child_process';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createOwner, createPets } from '../../harness/database/factories.js';
import { startService, type TestService } from '../../harness/service/service.js';

const CLIENT = join(__dirname, '../../../examples/client');
const run = promisify(execFile);

/** Runs a program that has a client. Returns what it returns; a bigint as text. */
async function withClient(url: string, key: string, program: string): Promise<unknown> {
  const code = `
    import { createClient, listPages } from ${JSON.stringify(`file://${CLIENT}/client.mjs`)};
    const client = createClient(process.argv[1], process.argv[2]);
    const result = await (async () => { ${program} })();
    const asText = (_name, value) => (typeof value === 'bigint' ? String(value) : value);
    console.log(JSON.stringify(result, asText));`;
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', code, url, key]);
  return JSON.parse(stdout);
}

describe('the client', () => {
  let service: TestService;
  let key: string;
  beforeAll(async () => {
    service = await startService();
    ({ key } = await createOwner(service.database));
    await createPets(service.database, 250, (index) => (index % 2 ? 'pending' : 'sold'));
  });
  afterAll(() => service.close());

  test('walks all pages, with a filter', async () => {
    const program = (filter: string): string => `
      const pages = [];
      for await (const page of listPages(client, ${filter})) pages.push(page.length);
      return pages;`;
    expect(await withClient(service.url, key, program('{}'))).toEqual([100, 100, 50]);
    expect(await withClient(service.url, key, program("{ status: 'sold' }"))).toEqual([100, 25]);
  });

  test('keeps every digit of an int64, and reads an error', async () => {
    const result = await withClient(
      service.url,
      key,
      `const body = { name: 'Ann', categoryId: 9223372036854775807n };
       const { data } = await client.POST('/pets', { body });
       const { error } = await client.POST('/pets', { body: { ...body, name: '' } });
       return { data, code: error.code };`,
    );
    expect(result).toMatchObject({
      data: { id: expect.stringMatching(/^\d+$/), categoryId: '9223372036854775807' },
      code: 'invalid_request',
    });
  });
});

describe('a request that fails for a while', () => {
  let server: Server;
  let keys: unknown[];
  let arrivedAtMs: number[];

  /** Starts a server that handles the requests one after the other. */
  async function serve(...listeners: RequestListener[]): Promise<string> {
    keys = [];
    arrivedAtMs = [];
    server = createServer((request, response) => {
      keys.push(request.headers['idempotency-key']);
      arrivedAtMs.push(Date.now());
      listeners[keys.length - 1]!(request, response);
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }
  afterEach(() => server.close());

  const reject =
    (status: number, headers = {}): RequestListener =>
    (_request, response) =>
      response.writeHead(status, headers).end('{}');

  test('is sent again after a 429, a lost connection and a 503, with the same Idempotency-Key', async () => {
    const url = await serve(
      reject(429, { 'Retry-After': '2' }),
      (request) => request.socket.destroy(),
      reject(503),
      (_request, response) => response.writeHead(201).end('{"id":9007199254740993}'),
    );
    const program = `return client.POST('/pets', { body: { name: 'Ann', categoryId: 1n } });`;
    const result = await withClient(url, 'key', program);
    // A response without Content-Length has exact integers as well.
    expect(result).toMatchObject({ data: { id: '9007199254740993' } });
    expect(keys).toHaveLength(4);
    expect(new Set(keys).size).toBe(1);
    expect(keys[0]).toMatch(/^[\w-]{36}$/);
    const waitsMs = arrivedAtMs.slice(1).map((atMs, index) => atMs - arrivedAtMs[index]!);
    expect(waitsMs[0]).toBeGreaterThanOrEqual(2_000);
    expect(waitsMs[2]).toBeGreaterThan(waitsMs[1]! / 2);
  });
});
