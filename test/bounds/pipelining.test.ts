import { holdPets } from '../harness/database/database-lock.js';
import { createOwner } from '../harness/database/factories.js';
import { metric, untilMetric } from '../harness/service/metrics.js';
import { RawConnection, requestHead } from '../harness/http/raw-connection.js';
import { startService, type TestService } from '../harness/service/service.js';

const PET = '{"name":"Frank","categoryId":1}';
const PIPELINED = 'pets_shed_total{bound="pipelined_requests"}';

let service: TestService;
let key: string;

beforeAll(async () => {
  service = await startService({ env: { ANONYMOUS_REQUESTS_PER_MINUTE: '1000000000' } });
  ({ key } = await createOwner(service.database));
});
afterAll(() => service.close());

const createFrank = (): string => {
  const headers = ['Content-Type: application/json', `Content-Length: ${PET.length}`];
  return requestHead('POST /v1/pets', key, ...headers) + PET;
};

async function animals(): Promise<number> {
  const [row] = await service.database.query<{ count: string }>('SELECT count(*) FROM pets');
  return Number(row?.count);
}

test.each<[title: string, following: () => string]>([
  ['requests', () => createFrank().repeat(15)],
  ['CONNECT', () => 'CONNECT pets:80 HTTP/1.1\r\nHost: pets:80\r\n\r\n'],
  ['bytes that are not HTTP', () => 'BROKEN\r\n\r\n'],
])(
  'POST /v1/pets › 201 and the end of the connection, and %s in the same packet are not processed',
  async (_title, following) => {
    const before = await animals();
    const connection = await RawConnection.open(service, createFrank() + following());
    const response = await connection.response();
    expect([response.status, response.headers['connection']]).toEqual([201, 'close']);
    await connection.serverEnd();
    expect(await animals()).toBe(before + 1);
  },
);

test('GET /v1/pets › 200 and the end of the connection, and a request before the response is not processed', async () => {
  const before = await metric(service, PIPELINED);
  const lock = await holdPets(service.database);
  const connection = await RawConnection.open(service, requestHead('GET /v1/pets?limit=1', key));
  await lock.waitedFor();
  connection.write(createFrank());
  await untilMetric(service, PIPELINED, (value) => value === before + 1);
  await lock.release();
  const added = await animals();
  const response = await connection.response();
  expect([response.status, response.headers['connection']]).toEqual([200, 'close']);
  await connection.serverEnd();
  expect(await animals()).toBe(added);
});

test('GET /v1/pets › 200 for any number of requests, each sent after the response to the previous one', async () => {
  const connection = await RawConnection.open(service);
  for (let round = 0; round < 50; round++) {
    const response = await connection.write(requestHead('GET /v1/pets', key)).response();
    expect([response.status, response.headers['connection']]).toEqual([200, 'keep-alive']);
  }
  connection.close();
});

test('POST /v1/nope › 404, and a request after the response that closes the connection is not processed', async () => {
  const before = await animals();
  // The unread body makes the service close the connection.
  const rejected = requestHead('POST /v1/nope', key, 'Transfer-Encoding: chunked');
  const connection = await RawConnection.open(service, rejected);
  const response = await connection.response();
  expect([response.status, response.headers['connection']]).toEqual([404, 'close']);
  connection.write(`0\r\n\r\n${createFrank()}`);
  await connection.serverEnd();
  expect(await animals()).toBe(before);
});

test('POST /v1/pets › one log line and one count for each processed request of clients that reset their connections', async () => {
  const counted =
    /^http_server_request_duration_seconds_count\{http_request_method="POST".* (\d+)$/gm;
  const count = async (): Promise<number> =>
    [...(await service.metrics()).matchAll(counted)].reduce(
      (sum, [, value]) => sum + Number(value),
      0,
    );
  const lines = (): number =>
    service.logs().filter(({ msg, method }) => msg === 'request' && method === 'POST').length;
  const before = { animals: await animals(), count: await count(), lines: lines() };
  const connections = await Promise.all(
    Array.from({ length: 20 }, () => RawConnection.open(service, createFrank().repeat(10))),
  );
  for (const { socket } of connections) socket.resetAndDestroy();
  await untilMetric(service, 'pets_connections', (value) => value === 0);
  // A connection that was reset before it was accepted may still be processed.
  while (lines() - before.lines !== (await count()) - before.count);
  const processed = lines() - before.lines;
  expect(processed).toBeLessThanOrEqual(20);
  expect((await animals()) - before.animals).toBeLessThanOrEqual(processed);
});
