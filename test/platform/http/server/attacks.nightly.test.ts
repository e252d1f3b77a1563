// Attacks that once took a replica down. Afterwards the service holds nothing and serves others.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { ApiClient, send } from '../../../harness/http/client.js';
import { useDatabase } from '../../../harness/database/database.js';
import { createOwner } from '../../../harness/database/factories.js';
import { requestHead } from '../../../harness/http/raw-connection.js';
import { metric, untilMetric } from '../../../harness/service/metrics.js';
import { type BuiltService, startBuiltService } from '../../../harness/service/service.js';

const MEBIBYTE = 1_048_576;
const LIMIT_BYTES = 512 * MEBIBYTE;
const ALLOWED_BYTES = 400 * MEBIBYTE;
const MAX_BODY_BYTES = 102_400;

const database = useDatabase();
let service: BuiltService;
let port: number;
const sockets = new Set<Socket>();

beforeEach(async () => {
  const env = {
    DATABASE_URL: database.url,
    METRICS_PORT: '0',
    // So that no head times out before the last one has arrived.
    HEADERS_TIMEOUT_SECONDS: '30',
    SHUTDOWN_GRACE_SECONDS: '1',
  };
  // The heap that Node has in a container with this limit.
  const heap = `--max-old-space-size=${LIMIT_BYTES / 2 / MEBIBYTE}`;
  service = await startBuiltService(env, undefined, [process.execPath, heap]);
  port = Number(new URL(service.url).port);
});
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  sockets.clear();
  await untilMetric(service, 'connections', (value) => value === 0);
  // The harness checks that the service holds nothing else.
  expect(await service.stop()).toBe(0);
});

/** Opens a connection that reads and discards everything. */
async function open(localAddress = '127.0.0.1'): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', localAddress });
  sockets.add(socket);
  socket.on('error', () => undefined).resume();
  socket.once('close', () => sockets.delete(socket));
  await Promise.race([once(socket, 'connect'), once(socket, 'close')]);
  return socket;
}

/** Opens connections, a few hundred at a time. */
async function openMany(count: number, localAddress?: string): Promise<Socket[]> {
  const opened: Socket[] = [];
  while (opened.length < count) {
    const batch = Math.min(250, count - opened.length);
    opened.push(...(await Promise.all(Array.from({ length: batch }, () => open(localAddress)))));
  }
  return opened;
}

/** Expects responses on new connections to a caller and to a health probe. */
async function expectServed(): Promise<void> {
  // An API key that is not in the cache.
  const { key } = await createOwner(database);
  expect((await new ApiClient(service, key).get('/v1/items')).status).toBe(200);
  expect((await send(service, '/health/live')).status).toBe(200);
}

/** Expects the largest resident size so far to be below a limit, where it can be read. */
function expectMemory(allowedBytes = ALLOWED_BYTES): void {
  if (process.platform !== 'linux') return;
  const status = readFileSync(`/proc/${service.process.pid}/status`, 'utf8');
  const peakKilobytes = Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]);
  expect(peakKilobytes * 1024).toBeLessThan(allowedBytes);
}

test('5,000 connections that pipeline 16 requests each: within the memory of a container', async () => {
  const opened = await openMany(5_000);
  const requests = requestHead('GET /v1/items').repeat(16);
  for (const socket of opened) socket.write(requests);
  await expectServed();
  expectMemory();
  const pipelined = 'shed_total{bound="pipelined_requests"}';
  // One for each connection: the parser stops at the second request.
  await untilMetric(service, pipelined, (value) => value === 5_000);
});

test('thousands of bodies of 100 KiB, each one byte short: 503 for bodies over the bound', async () => {
  const { key } = await createOwner(database);
  const headers = ['Content-Type: application/json', `Content-Length: ${MAX_BODY_BYTES}`];
  const head = requestHead('POST /v1/items', key, ...headers);
  const bytes = Buffer.concat([Buffer.from(head), Buffer.alloc(MAX_BODY_BYTES - 1, ' ')]);
  const opened = await openMany(1_500);
  for (const socket of opened) socket.write(bytes);
  await untilMetric(service, 'shed_total{bound="arriving_bodies"}', (value) => value > 100);
  await expectServed();
  expect(await metric(service, 'arriving_body_bytes')).toBeLessThanOrEqual(32 * MEBIBYTE);
  expectMemory();
});

test('10,000 heads that do not end, of almost 8 KiB each: 200 for health probes, within the memory of a container', async () => {
  const start = 'GET /v1/items HTTP/1.1\r\nHost: pets\r\n';
  const heads = [start + 'ab:cd\r\n'.repeat(1_150), start + `X: ${'a'.repeat(75)}\r\n`.repeat(100)];
  // One address has too few ports.
  for (const address of ['127.0.0.2', '127.0.0.3', '127.0.0.4']) {
    const opened = await openMany(3_333, address);
    for (const [index, socket] of opened.entries()) socket.write(heads[index % 2] ?? '');
  }
  // Node.js 24 rejects a head with the 102nd header, and Node.js 20 drops the header.
  await untilMetric(service, 'connections', (value) => value > 4_900);
  expect((await send(service, '/health/ready')).status).toBe(200);
  // The service responds to all of them with 408 after the time limit.
  await untilMetric(service, 'connections', (value) => value < 100);
  await expectServed();
  expectMemory(LIMIT_BYTES);
});
