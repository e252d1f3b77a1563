import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { send } from '../harness/http/client.js';
import { createDatabase, type TestDatabase } from '../harness/database/database.js';
import { createOwner, createPets } from '../harness/database/factories.js';
import { metric } from '../harness/service/metrics.js';
import { canReadMemory, peakMemoryBytes } from '../harness/service/process-memory.js';
import { RawConnection } from '../harness/http/raw-connection.js';
import { type BuiltService, startBuiltService } from '../harness/service/service.js';

const MEBIBYTE = 1_048_576;
const PET = '{"name":"Frank","categoryId":1}';
const BOUND = 16;

let database: TestDatabase;
let service: BuiltService;
let port: number;
let key: string;

beforeAll(async () => {
  database = await createDatabase();
  await createPets(database, 100);
  service = await startBuiltService({
    DATABASE_URL: database.url,
    METRICS_PORT: '0',
    ANONYMOUS_REQUESTS_PER_MINUTE: '1000000000',
  });
  port = Number(new URL(service.url).port);
  ({ key } = await createOwner(database));
});
afterAll(async () => {
  await service.stop();
  await database.close();
});

const request = (path: string, ...headers: string[]): string =>
  [`GET ${path} HTTP/1.1`, 'Host: pets', ...headers, '', ''].join('\r\n');
const authorized = (): string => `Authorization: Bearer ${key}`;
const create = (...headers: string[]): string =>
  ['POST /v1/pets HTTP/1.1', 'Host: pets', authorized(), ...headers, '', ''].join('\r\n');

/** Opens a connection that writes the bytes and never reads. */
async function flood(bytes: string): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1' }).pause();
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  socket.write(bytes);
  return socket;
}

test.each<[title: string, requests: () => string]>([
  ['60,000 requests for an unknown path', () => request('/nope').repeat(60_000)],
  [
    '60,000 small requests',
    () => 'GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n'.repeat(60_000),
  ],
  ['5,000 lists with an API key', () => request('/v1/pets?limit=100', authorized()).repeat(5_000)],
  [
    '5,000 new animals',
    () =>
      `${create('Content-Type: application/json', `Content-Length: ${PET.length}`)}${PET}`.repeat(
        5_000,
      ),
  ],
  [
    '5,000 chunked bodies',
    () =>
      `${create('Content-Type: application/json', 'Transfer-Encoding: chunked')}${PET.length.toString(16)}\r\n${PET}\r\n0\r\n\r\n`.repeat(
        5_000,
      ),
  ],
])(
  'ten connections that never read, with %s each: memory grows by less than 100 MB',
  async (_title, requests) => {
    const before = canReadMemory ? peakMemoryBytes(service) : 0;
    const bytes = requests();
    const sockets = await Promise.all(Array.from({ length: 10 }, () => flood(bytes)));
    // Other clients are served at the same time.
    for (let round = 0; round < 20; round++) {
      const listed = await send(service, '/v1/pets', {
        headers: { Authorization: `Bearer ${key}` },
      });
      expect(listed.status).toBe(200);
    }
    if (canReadMemory) expect(peakMemoryBytes(service) - before).toBeLessThan(100 * MEBIBYTE);
    for (const socket of sockets) socket.destroy();
  },
);

test('the requests within the limit get their responses in order, and the last one closes', async () => {
  const shed = 'pets_shed_total{bound="requests_per_connection"}';
  const before = await metric(service, shed);
  const ids = Array.from({ length: 60 }, (_, index) => `request-${index}`);
  const bytes = ids.map((id) => request('/v1/pets?limit=1', authorized(), `X-Request-Id: ${id}`));
  const connection = await RawConnection.open({ port }, bytes.join(''));
  for (const id of ids.slice(0, BOUND)) {
    const response = await connection.response();
    expect([response.status, response.headers['x-request-id']]).toEqual([200, id]);
    expect(response.headers['connection']).toBe(id === ids[BOUND - 1] ? 'close' : 'keep-alive');
  }
  await connection.serverEnd();
  expect(await metric(service, shed)).toBe(before + 1);
});

test('requests sent one after the other are not limited', async () => {
  const connection = await RawConnection.open({ port });
  for (let round = 0; round < 3 * BOUND; round++) {
    const response = await connection.write(request('/v1/pets', authorized())).response();
    expect([response.status, response.headers['connection']]).toEqual([200, 'keep-alive']);
  }
  connection.close();
});

test('a request after the last one of a connection is not executed', async () => {
  const [before] = await database.query<{ count: string }>('SELECT count(*) FROM pets');
  const body = `${create('Content-Type: application/json', `Content-Length: ${PET.length}`)}${PET}`;
  // The unread body of the first one makes the service close the connection.
  const rejected = `POST /v1/nope HTTP/1.1\r\nHost: pets\r\n${authorized()}\r\nTransfer-Encoding: chunked\r\n\r\n`;
  const connection = await RawConnection.open({ port }, rejected);
  const response = await connection.response();
  expect([response.status, response.headers['connection']]).toEqual([404, 'close']);
  connection.write(`0\r\n\r\n${body}`);
  await connection.serverEnd();
  const [after] = await database.query<{ count: string }>('SELECT count(*) FROM pets');
  expect(after).toEqual(before);
});
