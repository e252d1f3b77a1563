import { ApiClient, type ApiResponse, send } from '../../../harness/http/client.js';
import { unknownKey } from '../../../harness/database/api-keys.js';
import { useDatabase } from '../../../harness/database/database.js';
import { holdItems } from '../../../harness/database/database-lock.js';
import { expectError } from '../../../harness/http/error-response.js';
import { createOwner } from '../../../harness/database/factories.js';
import { metric, untilMetric } from '../../../harness/service/metrics.js';
import { RawConnection, requestHead } from '../../../harness/http/raw-connection.js';
import {
  type Environment,
  startService,
  type TestService,
} from '../../../harness/service/service.js';

const PET = '{"name":"Frank","categoryId":1}';

const database = useDatabase();

function start(env: Environment = {}): Promise<TestService> {
  const patient = {
    DATABASE_STATEMENT_TIMEOUT_SECONDS: '20',
    DATABASE_LOCK_TIMEOUT_SECONDS: '20',
    DATABASE_POOL_WAIT_SECONDS: '20',
  };
  return startService({ database, env: { ...patient, ...env } });
}

/** Returns a client with a new owner and a cached API key. */
async function cachedClient(service: TestService): Promise<ApiClient> {
  const client = new ApiClient(service, (await createOwner(database)).key);
  expect((await client.get('/v1/items?limit=1')).status).toBe(200);
  return client;
}

const inProgress = (service: TestService, count: number): Promise<void> =>
  untilMetric(service, 'requests_in_progress', (value) => value === count);

/** Expects a 503 for overload with the limit of the address. @param left the remaining requests */
function expectShed(response: ApiResponse, left = 300): void {
  expectError(response, 503, 'service_unavailable');
  expect(response.headers).toMatchObject({
    'ratelimit-policy': '"minute";q=300;w=60',
    'x-ratelimit-remaining': String(left),
  });
}

const remaining = ({ headers }: ApiResponse): number => Number(headers['x-ratelimit-remaining']);

describe('MAX_REQUESTS_IN_PROGRESS', () => {
  test('GET /v1/items › 503 with Retry-After for requests over the limit, which are not counted', async () => {
    const service = await start({ MAX_REQUESTS_IN_PROGRESS: '5' });
    const client = await cachedClient(service);
    const lock = await holdItems(database);
    const held = Array.from({ length: 5 }, () => client.get('/v1/items'));
    await inProgress(service, 5);

    for (const path of ['/v1/items', '/v1/nope', '/v1/items/1', '/nope']) {
      expectShed(await client.get(path));
    }
    expectShed(await client.post('/v1/items', JSON.parse(PET)));
    expectShed(await client.post('/health/live', JSON.parse(PET)));
    expectShed(await send(service, '/v1/items'));
    for (const probe of ['/health/live', '/health/live?x', '/health/ready', '/health/ready?x=1']) {
      expect([probe, (await send(service, probe)).status]).toEqual([probe, 200]);
    }
    await lock.release();
    const served = await Promise.all(held);

    expect(served.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    const next = await client.get('/v1/items');
    expect(next.status).toBe(200);
    // The first request, the five and this one. No shed request was counted.
    expect(remaining(next)).toBe(1_000_000 - 7);
    expect(remaining(await send(service, '/v1/items'))).toBe(299);
    // Every scrape reports the same total.
    for (let scrape = 0; scrape < 2; scrape++) {
      expect(await metric(service, 'shed_total{bound="requests_in_progress"}')).toBe(6);
      expect(await metric(service, 'shed_total{bound="unauthenticated_requests"}')).toBe(1);
    }
    expect(await metric(service, 'requests_in_progress')).toBe(0);
  });

  test('POST /v1/items › requests that wait for their bodies count, and the one that waits longest is closed first', async () => {
    const service = await start({ MAX_REQUESTS_IN_PROGRESS: '5' });
    const client = await cachedClient(service);
    const { key } = await createOwner(database);
    const headers = ['Content-Type: application/json', `Content-Length: ${PET.length}`];
    const head = requestHead('POST /v1/items', key, ...headers, 'Expect: 100-continue');
    const slow: RawConnection[] = [];
    for (let index = 0; index < 10; index++) {
      const connection = await RawConnection.open(service, head);
      expect((await connection.response()).status).toBe(100);
      slow.push(connection);
    }
    expect(await metric(service, 'requests_in_progress')).toBe(5);
    expect((await client.get('/v1/items')).status).toBe(200);
    for (const [index, connection] of slow.entries()) {
      const { status } = await connection.write(PET).response();
      expect(status).toBe(index < 6 ? 503 : 201);
      connection.close();
    }
    expect(await metric(service, 'requests_in_progress')).toBe(0);
  });

  test('a request is no longer in progress when its client has reset the connection', async () => {
    const service = await start({ MAX_REQUESTS_IN_PROGRESS: '5' });
    const client = await cachedClient(service);
    const { key } = await createOwner(database);
    const lock = await holdItems(database);
    const connections: RawConnection[] = [];
    for (let index = 0; index < 5; index++) {
      connections.push(await RawConnection.open(service, requestHead('GET /v1/items', key)));
      await inProgress(service, index + 1);
    }
    expectShed(await client.get('/v1/items'));
    // After a mere close, the service would still respond: the client may only have ended its side.
    for (const { socket } of connections) socket.resetAndDestroy();
    await inProgress(service, 0);
    await lock.release();
    expect((await client.get('/v1/items')).status).toBe(200);
  });
});

test('MAX_UNAUTHENTICATED_REQUESTS › requests without a valid API key are shed first', async () => {
  const service = await start({
    MAX_REQUESTS_IN_PROGRESS: '10',
    MAX_UNAUTHENTICATED_REQUESTS: '3',
  });

  const client = await cachedClient(service);
  const lock = await holdItems(database);
  const held = Array.from({ length: 3 }, () => client.get('/v1/items'));
  await inProgress(service, 3);

  expectShed(await new ApiClient(service, unknownKey()).get('/v1/items'));
  expectShed(await send(service, '/v1/items'));
  const { key } = await createOwner(database);
  held.push(client.get('/v1/items'), new ApiClient(service, key).get('/v1/items'));
  await inProgress(service, 5);
  await lock.release();
  for (const { status } of await Promise.all(held)) expect(status).toBe(200);
  expect(await metric(service, 'shed_total{bound="unauthenticated_requests"}')).toBe(2);
});
