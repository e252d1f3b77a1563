import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { ApiClient } from '../harness/http/client.js';
import { createDatabase, type TestDatabase } from '../harness/database/database.js';
import { createOwner } from '../harness/database/factories.js';
import { metric, untilMetric } from '../harness/service/metrics.js';
import {
  type BuiltService,
  type Environment,
  startBuiltService,
} from '../harness/service/service.js';

const LIMIT_SECONDS = 2;
/** The service promises the limit plus five seconds. The rest is for a busy machine. */
const LATEST_MS = (LIMIT_SECONDS + 5) * 1_000 + 3_000;

let database: TestDatabase;
let key: string;
const services: BuiltService[] = [];

beforeAll(async () => {
  database = await createDatabase();
  // A page of these is far larger than the buffers of a connection.
  await database.query(
    `INSERT INTO pets (name, category_id, status) SELECT repeat('ä', 255), 1, 'available' FROM generate_series(1, 100)`,
  );
  ({ key } = await createOwner(database));
});
afterEach(async () => {
  for (const service of services.splice(0)) await service.stop();
});
afterAll(() => database.close());

async function start(env: Environment = {}): Promise<{ service: BuiltService; port: number }> {
  const service = await startBuiltService({
    DATABASE_URL: database.url,
    METRICS_PORT: '0',
    STALLED_CONNECTION_TIMEOUT_SECONDS: String(LIMIT_SECONDS),
    // Other limits must not be reached.
    MAX_REQUESTS_PER_CONNECTION: '1000',
    MAX_REQUESTS_IN_PROGRESS: '100000',
    DATABASE_QUEUE_SIZE: '100000',
    DATABASE_POOL_WAIT_SECONDS: '20',
    ...env,
  });
  services.push(service);
  return { service, port: Number(new URL(service.url).port) };
}

const list = (): string =>
  `GET /v1/pets?limit=100 HTTP/1.1\r\nHost: pets\r\nAuthorization: Bearer ${key}\r\n\r\n`;
/** Responses of 60 KB each: more than the kernel's buffers of a connection hold. */
const MANY = 400;

/** Opens a connection that reads nothing until it is resumed. */
async function openPaused(port: number, bytes: string): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1' }).pause();
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  socket.write(bytes);
  return socket;
}

/** Returns after how many milliseconds the service has no more connections. */
async function emptyAfterMs(service: BuiltService): Promise<number> {
  const startedAt = performance.now();
  while ((await metric(service, 'pets_connections')) > 0) {
    if (performance.now() - startedAt > LATEST_MS) break;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return performance.now() - startedAt;
}

test.each<[title: string, bytes: () => string]>([
  ['pipelined lists', () => list().repeat(MANY)],
  [
    'CONNECT after unread responses',
    () => `${list().repeat(MANY - 1)}CONNECT pets:80 HTTP/1.1\r\nHost: pets:80\r\n\r\n`,
  ],
  [
    'Upgrade after unread responses',
    () =>
      `${list().repeat(MANY - 1)}GET /v1/pets HTTP/1.1\r\nHost: pets\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
  ],
  ['an invalid message after unread responses', () => `${list().repeat(MANY - 1)}BROKEN\r\n\r\n`],
])(
  '%s: a client that never reads is disconnected within the stall limit',
  async (_title, bytes) => {
    const { service, port } = await start();
    const sockets = await Promise.all([1, 2, 3].map(() => openPaused(port, bytes())));
    // Other clients are served at the same time.
    expect((await new ApiClient(service, key).get('/v1/pets')).status).toBe(200);
    expect(await emptyAfterMs(service)).toBeLessThan(LATEST_MS);
    expect(await metric(service, 'pets_shed_total{bound="stalled"}')).toBe(3);
    for (const socket of sockets) socket.destroy();
  },
);

test('a client that reads a byte now and then is disconnected within the stall limit', async () => {
  const { service, port } = await start();
  const socket = await openPaused(port, list().repeat(MANY));
  const drip = setInterval(() => socket.read(1), 100);
  expect(await emptyAfterMs(service)).toBeLessThan(LATEST_MS);
  clearInterval(drip);
  socket.destroy();
});

test('a client that sends further requests but never reads is disconnected within the stall limit', async () => {
  const { service, port } = await start();
  const socket = await openPaused(port, list().repeat(MANY / 2));
  const sending = setInterval(() => socket.write(list()), 200);
  expect(await emptyAfterMs(service)).toBeLessThan(LATEST_MS);
  clearInterval(sending);
  socket.destroy();
});

test('a client that reads slowly but steadily gets everything', async () => {
  const { service, port } = await start();
  const socket = await openPaused(
    port,
    list()
      .repeat(60)
      .replace(/\r\n\r\n$/, '\r\nConnection: close\r\n\r\n'),
  );
  let bytes = 0;
  // For about twice the stall limit.
  const read = setInterval(() => {
    for (let piece = 0; piece < 10; piece++)
      bytes += (socket.read(8_192) as Buffer | null)?.length ?? 0;
  }, 100);
  await once(socket, 'end');
  clearInterval(read);
  expect(bytes).toBeGreaterThan(60 * 50_000);
  expect(await metric(service, 'pets_shed_total{bound="stalled"}')).toBe(0);
});

test('MAX_UNSENT_MEBIBYTES › the clients that have read nothing for longest are disconnected', async () => {
  const { service, port } = await start({
    STALLED_CONNECTION_TIMEOUT_SECONDS: '600',
    MAX_UNSENT_MEBIBYTES: '1',
  });
  const sockets = await Promise.all(
    Array.from({ length: 4 }, () => openPaused(port, list().repeat(MANY))),
  );
  const shed = 'pets_shed_total{bound="unsent_responses"}';
  await untilMetric(service, shed, (value) => value >= 2);
  expect((await new ApiClient(service, key).get('/v1/pets')).status).toBe(200);
  for (const socket of sockets) socket.destroy();
});

test.each<[title: string, bytes: () => string]>([
  ['responses that are not read', () => list().repeat(MANY)],
  [
    'CONNECT after unread responses',
    () => `${list().repeat(MANY - 1)}CONNECT pets:80 HTTP/1.1\r\nHost: pets:80\r\n\r\n`,
  ],
])('SIGTERM › exit code 0 within delay and grace, with %s', async (_title, bytes) => {
  const { service, port } = await start({
    STALLED_CONNECTION_TIMEOUT_SECONDS: '600',
    SHUTDOWN_DELAY_SECONDS: '0.5',
    SHUTDOWN_GRACE_SECONDS: '1',
  });
  const sockets = await Promise.all([1, 2, 3].map(() => openPaused(port, bytes())));
  await untilMetric(service, 'pets_connections', (value) => value >= 3);
  const startedAt = performance.now();
  expect(await service.stop()).toBe(0);
  // A busy machine may be slow, but the service does not wait for the clients.
  expect(performance.now() - startedAt).toBeLessThan(6_000);
  for (const socket of sockets) socket.destroy();
});
