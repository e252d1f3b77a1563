import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { send } from '../harness/http/client.js';
import { createDatabase, type TestDatabase } from '../harness/database/database.js';
import { createOwner } from '../harness/database/factories.js';
import { type BuiltService, startBuiltService } from '../harness/service/service.js';

const ARRIVALS = 1_000;
const BUSY_CLIENTS = 64;

let database: TestDatabase;
let service: BuiltService;
let list: string;
const sockets: Socket[] = [];

beforeAll(async () => {
  database = await createDatabase();
  service = await startBuiltService({ DATABASE_URL: database.url, SHUTDOWN_GRACE_SECONDS: '1' });
  const { key } = await createOwner(database);
  list = `GET /v1/pets HTTP/1.1\r\nHost: pets\r\nAuthorization: Bearer ${key}\r\n\r\n`;
});
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});
afterAll(async () => {
  await service.stop();
  await database.close();
});

function open(): Socket {
  const socket = connect(Number(new URL(service.url).port), '127.0.0.1');
  socket.on('error', () => undefined).resume();
  sockets.push(socket);
  return socket;
}

/** The limit of the system on connections that wait to be accepted. */
function systemBacklog(): number {
  try {
    return Number(readFileSync('/proc/sys/net/core/somaxconn', 'utf8'));
  } catch {
    return 0;
  }
}

const canStopProcesses = process.platform === 'linux' && systemBacklog() > ARRIVALS;

(canStopProcesses ? test : test.skip)(
  'GET /health/live › 200 after 1,000 connections arrived at once and the system dropped none',
  async () => {
    // A stopped process accepts nothing. The system drops connections over the backlog, and clients retry.
    service.process.kill('SIGSTOP');
    try {
      await Promise.all(Array.from({ length: ARRIVALS }, () => once(open(), 'connect')));
    } finally {
      service.process.kill('SIGCONT');
    }
    expect((await send(service, '/health/live')).status).toBe(200);
  },
);

test('GET /health/live › 200 on a new connection within 3,000 requests, while 1,000 connections arrive', async () => {
  let responses = 0;
  const busy = Array.from({ length: BUSY_CLIENTS }, () => {
    const socket = open();
    socket.on('data', (bytes: Buffer) => {
      if (!bytes.includes('HTTP/1.1 200')) return;
      responses++;
      socket.write(list);
    });
    socket.write(list);
    return once(socket, 'data');
  });
  await Promise.all(busy);

  const before = responses;
  for (let count = 0; count < ARRIVALS; count++) open().write(list);
  expect((await send(service, '/health/live')).status).toBe(200);
  // Counted in requests and not in seconds, because a busy machine delays both.
  expect(responses - before).toBeLessThan(3_000);
});
