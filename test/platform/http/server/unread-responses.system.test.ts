import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { ApiClient } from '../../../harness/http/client.js';
import { useDatabase } from '../../../harness/database/database.js';
import { createOwner } from '../../../harness/database/factories.js';
import { RawConnection, requestHead } from '../../../harness/http/raw-connection.js';
import { featureFile } from '../../../harness/http/store.js';
import { metric, untilMetric } from '../../../harness/service/metrics.js';
import {
  type Environment,
  startService,
  type TestService,
} from '../../../harness/service/service.js';

/** Of the response of harness/features/slow.ts. */
const LARGE_BYTES = 16_777_216;
/** A busy machine reads and writes more often than that. */
const LIMIT_SECONDS = 4;
/** Node needs up to twice the limit. The next limit would be the default of KEEP_ALIVE_TIMEOUT_SECONDS. */
const LATEST_MS = 40_000;
const NO_LIMIT = { STALLED_CONNECTION_TIMEOUT_SECONDS: '600' };

const database = useDatabase();
let key: string;

beforeAll(async () => {
  ({ key } = await createOwner(database));
});

const start = (env: Environment = {}): Promise<TestService> =>
  startService({
    database,
    features: featureFile('slow'),
    env: { STALLED_CONNECTION_TIMEOUT_SECONDS: String(LIMIT_SECONDS), ...env },
  });

const get = (path: string): string => requestHead(`GET ${path}`, key, 'Connection: close');
const LARGE = '/v1/slow/large';

/** Opens a connection that reads nothing until it is resumed. */
async function openPaused(service: TestService, bytes: string): Promise<Socket> {
  const connection = await RawConnection.open(service);
  connection.socket.pause();
  return connection.write(bytes).socket;
}

/**
 * Opens a connection on which a large response has begun, and reads no more of it. The service creates
 * one such response after another: on a busy machine, several at once would take longer than the limit.
 *
 * @param following bytes after the request
 */
async function openUnread(service: TestService, following = ''): Promise<Socket> {
  const socket = await openPaused(service, get(LARGE) + following);
  await once(socket.resume(), 'data');
  return socket.pause();
}

async function expectDisconnected(service: TestService): Promise<void> {
  const startedAt = performance.now();
  await untilMetric(service, 'connections', (value) => value === 0);
  expect(performance.now() - startedAt).toBeLessThan(LATEST_MS);
}

test('clients that read nothing, whatever they have sent after it, or a byte now and then, are disconnected within the stall limit', async () => {
  const service = await start({ MAX_UNSENT_MEBIBYTES: '1024' });
  for (const following of [
    '',
    'CONNECT pets:80 HTTP/1.1\r\nHost: pets:80\r\n\r\n',
    requestHead('GET /v1/items', undefined, 'Connection: Upgrade', 'Upgrade: websocket'),
    'BROKEN\r\n\r\n',
  ]) {
    await openUnread(service, following);
  }
  const socket = await openUnread(service);
  const drip = setInterval(() => socket.read(1), 100);
  // Other clients are served at the same time.
  expect((await new ApiClient(service, key).get('/v1/items')).status).toBe(200);
  await expectDisconnected(service);
  clearInterval(drip);
  expect(await metric(service, 'shed_total{bound="stalled"}')).toBe(5);
});

test('a client that reads slowly but steadily gets everything', async () => {
  const service = await start();
  const socket = await openPaused(service, get('/v1/slow/large-stream'));
  let bytes = 0;
  // 256 chunks: for about twice the stall limit.
  const read = setInterval(() => {
    bytes += (socket.read() as string | null)?.length ?? 0;
  }, 30);
  await once(socket, 'end');
  clearInterval(read);
  expect(bytes).toBeGreaterThan(LARGE_BYTES);
  expect(await metric(service, 'shed_total{bound="stalled"}')).toBe(0);
});

describe('MAX_UNSENT_MEBIBYTES', () => {
  // Room for one response and the rest of another.
  const ROOM = { ...NO_LIMIT, MAX_UNSENT_MEBIBYTES: '17' };
  const SHED = 'shed_total{bound="unsent_responses"}';

  async function expectEverything(socket: Socket): Promise<void> {
    let bytes = 0;
    socket.on('data', (chunk: string) => (bytes += chunk.length)).resume();
    await once(socket, 'end');
    expect(bytes).toBeGreaterThan(LARGE_BYTES);
  }

  test('the requests that have waited longest are closed by a reset, and the last one gets everything', async () => {
    const service = await start(ROOM);
    const oldest = await openPaused(service, '');
    for (let opened = 0; opened < 3; opened++) await openPaused(service, get(LARGE));
    await untilMetric(service, SHED, (value) => value >= 2);
    oldest.write(get(LARGE));
    await untilMetric(service, SHED, (value) => value === 3);
    // Linux would keep the bytes of an ordinarily closed one, in FIN-WAIT-1.
    const sockets = process.platform === 'linux' ? readFileSync('/proc/net/tcp', 'utf8') : '';
    expect(sockets).not.toMatch(RegExp(`:${service.port.toString(16).toUpperCase()} \\S+ 04`));
    await expectEverything(oldest);
  });

  test('those without a valid API key are closed before the others', async () => {
    const service = await start(ROOM);
    const withKey = await openPaused(service, get(LARGE));
    for (let opened = 0; opened < 3; opened++) {
      await openPaused(service, requestHead(`GET ${LARGE}`));
    }
    await untilMetric(service, SHED, (value) => value >= 3);
    await expectEverything(withKey);
  });
});

test('MAX_REQUESTS_IN_PROGRESS, MAX_CONNECTIONS › unread responses do not keep other callers out', async () => {
  const service = await start({
    ...NO_LIMIT,
    MAX_REQUESTS_IN_PROGRESS: '3',
    MAX_UNAUTHENTICATED_REQUESTS: '3',
    MAX_CONNECTIONS: '3',
  });
  for (let opened = 0; opened < 3; opened++) await openUnread(service);
  // A request is in progress until the head of its response is written.
  expect(await metric(service, 'requests_in_progress')).toBe(0);
  expect((await new ApiClient(service, key).get('/v1/items')).status).toBe(200);
  expect(await metric(service, 'shed_total{bound="connections"}')).toBe(1);
});
