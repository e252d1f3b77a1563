import { ApiClient } from '../../../harness/http/client.js';
import { useDatabase } from '../../../harness/database/database.js';
import { holdItems } from '../../../harness/database/database-lock.js';
import { createOwner } from '../../../harness/database/factories.js';
import { expectError } from '../../../harness/http/error-response.js';
import { metric, untilMetric } from '../../../harness/service/metrics.js';
import { RawConnection, requestHead } from '../../../harness/http/raw-connection.js';
import { until } from '../../../harness/run/until.js';
import {
  type Environment,
  startService,
  type TestService,
} from '../../../harness/service/service.js';

const UNFINISHED = 'GET /v1/items HTTP/1.1\r\n';

const database = useDatabase();
let key: string;

beforeAll(async () => {
  ({ key } = await createOwner(database));
});

const start = (env: Environment): Promise<TestService> => startService({ database, env });

const openMany = (count: number, service: TestService, bytes: string): Promise<RawConnection[]> =>
  Promise.all(Array.from({ length: count }, () => RawConnection.open(service, bytes)));

const stillOpen = (connections: readonly RawConnection[]): number =>
  connections.filter(({ socket }) => socket.readable).length;

test('MAX_REQUESTS_IN_PROGRESS › 503 for one more, with a valid API key', async () => {
  const service = await start({ MAX_REQUESTS_IN_PROGRESS: '2' });
  const client = new ApiClient(service, key);
  const lock = await holdItems(database);
  const busy = [client.get('/v1/items'), client.get('/v1/items')];
  await untilMetric(service, 'requests_in_progress', (value) => value === 2);
  expectError(await client.get('/v1/items'), 503, 'service_unavailable');
  await lock.release();
  for (const response of busy) expect((await response).status).toBe(200);
});

test('MAX_CONNECTIONS › a new connection replaces the one that has been idle longest', async () => {
  const service = await start({ MAX_CONNECTIONS: '20' });
  // The oldest connection, which has just been served, has been idle for the shortest time.
  const served = await RawConnection.open(service);
  const first = await openMany(19, service, UNFINISHED);
  await untilMetric(service, 'connections', (value) => value === 20);
  const request = requestHead('GET /v1/items', key);
  expect((await served.write(request).response()).status).toBe(200);
  const second = await openMany(10, service, UNFINISHED);
  await until(() => stillOpen(first) <= 9);
  expect(stillOpen(second)).toBe(10);
  expect((await served.write(request).response()).status).toBe(200);
  served.close();
  expect((await new ApiClient(service, key).get('/v1/items')).status).toBe(200);
  expect(await metric(service, 'connections')).toBeLessThanOrEqual(20);
  expect(await metric(service, 'shed_total{bound="connections"}')).toBeGreaterThanOrEqual(10);
});

test('MAX_CONNECTIONS › a connection with a request in progress stays, and a new one is closed', async () => {
  const service = await start({
    MAX_CONNECTIONS: '3',
    DATABASE_STATEMENT_TIMEOUT_SECONDS: '10',
    DATABASE_LOCK_TIMEOUT_SECONDS: '10',
  });

  const lock = await holdItems(database);
  const request = requestHead('GET /v1/items', key);
  const busy = await openMany(2, service, request);
  // A body that has arrived after its head is no reason to close the connection.
  const pet = '{"name":"Frank","categoryId":1}';
  const headers = ['Content-Type: application/json', `Content-Length: ${pet.length}`];
  busy.push(await RawConnection.open(service, requestHead('POST /v1/items', key, ...headers)));
  await untilMetric(service, 'arriving_body_bytes', (bytes) => bytes > 0);
  busy[2]!.write(pet);
  await untilMetric(service, 'arriving_body_bytes', (bytes) => bytes === 0);
  await lock.waitedFor();
  await untilMetric(service, 'requests_in_progress', (value) => value === 3);

  const rejected = await RawConnection.open(service, request);
  await expect(rejected.response()).rejects.toThrow();
  expect(stillOpen(busy)).toBe(3);
  await lock.release();
  for (const connection of busy) expect([200, 201]).toContain((await connection.response()).status);
  // The connections are idle now.
  const next = await RawConnection.open(service, request);
  expect((await next.response()).status).toBe(200);
  for (const connection of [...busy, next]) connection.close();
});
