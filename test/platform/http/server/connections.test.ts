import { once } from 'node:events';
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
  spawnBuiltService,
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
  for (const connection of busy) {
    expect([200, 201]).toContain((await connection.response()).status);
    connection.close();
  }
});

test('ulimit -n › the service accepts fewer connections, and the log and the metrics say so', async () => {
  if (process.platform !== 'linux') return;
  const node = ['prlimit', '--nofile=500', process.execPath];
  const service = spawnBuiltService({ DATABASE_URL: database.url }, undefined, node);
  const { address } = await service.waitForLog(({ msg }) => msg === 'listening');
  const warnings = () => service.logs().filter(({ level }) => level === 40 || level === 'warn');
  expect(warnings().map(({ msg }) => msg)).toContain(
    'MAX_CONNECTIONS is 10000, but the limit of open files is 500 (ulimit -n): the service accepts 290 connections',
  );
  const port = Number(new URL(String(address)).port);
  const served = await RawConnection.open({ port }, requestHead('GET /health/live'));
  expect((await served.response()).status).toBe(200);
  const { port: metricsPort } = new URL(
    String(service.logs().find(({ msg }) => msg === 'listening')?.['metrics']),
  );
  // Without a free descriptor, Node.js would close new connections, and count none.
  const scrapers = await Promise.all(
    Array.from({ length: 300 }, () => RawConnection.open({ port: Number(metricsPort) })),
  );
  const connections = await Promise.all(
    Array.from({ length: 600 }, () => RawConnection.open({ port }, UNFINISHED)),
  );
  // The last 290 connections stay open.
  await until(() => stillOpen(connections) === 290);
  const last = connections.at(-1)!.write(`Host: pets\r\n\r\n`);
  expect((await last.response()).status).toBe(401);
  await service.waitForLog(({ msg }) => String(msg).startsWith('Limit reached: 290 connections.'));
  await service.waitForLog(({ msg }) => /^Limit reached: .* METRICS_PORT/.test(String(msg)));
  for (const scraper of scrapers) scraper.close();
  expect(await service.metrics()).toMatch(/_shed_total\{bound="connections"\} 311$/m);
  for (const connection of connections) connection.close();
  expect(await service.stop()).toBe(0);
});

test.each([
  ['100', {}, /^DATABASE_POOL_SIZE is invalid: .* 210 open files \(ulimit -n\), but .* is 100\n$/],
  [
    '1000',
    { DATABASE_POOL_SIZE: '900' },
    /^DATABASE_POOL_SIZE is invalid: .* 1100 open files \(ulimit -n\), but .* is 1000\n$/,
  ],
])('ulimit -n %s %j › the start fails with one line', async (limit, env, line) => {
  if (process.platform !== 'linux') return;
  const node = ['prlimit', `--nofile=${limit}`, process.execPath];
  const service = spawnBuiltService({ DATABASE_URL: database.url, ...env }, undefined, node);
  expect(await once(service.process, 'close')).toEqual([1, null]);
  expect(service.output()).toMatch(line);
});

test('ulimit -n 220 › the service starts, or says that Node.js cannot load it', async () => {
  if (process.platform !== 'linux') return;
  const node = ['prlimit', '--nofile=220', process.execPath];
  const service = spawnBuiltService({ DATABASE_URL: database.url }, undefined, node);
  const started = service.waitForLog(({ msg }) => msg === 'listening').catch(() => undefined);
  if (await started) {
    await service.stop();
    return;
  }
  expect(service.output()).toMatch(/^Node\.js needs .* but the limit is 220 \(ulimit -n\): .+\n$/);
});
