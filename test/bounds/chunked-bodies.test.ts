import { useDatabase } from '../harness/database/database.js';
import { createOwner } from '../harness/database/factories.js';
import { send } from '../harness/http/client.js';
import { RawConnection, requestHead } from '../harness/http/raw-connection.js';
import { canReadMemory, peakMemoryBytes } from '../harness/service/process-memory.js';
import { type BuiltService, startBuiltService } from '../harness/service/service.js';

const MEBIBYTE = 1_048_576;
const PET = '{"name":"Frank","categoryId":1}';
const SPACE = '1\r\n \r\n';

const database = useDatabase();
let service: BuiltService;
let port: number;
let key: string;

beforeAll(async () => {
  service = await startBuiltService({
    DATABASE_URL: database.url,
    ANONYMOUS_REQUESTS_PER_MINUTE: '1000000',
  });
  port = Number(new URL(service.url).port);
  ({ key } = await createOwner(database));
});

const CHUNKED = ['Content-Type: application/json', 'Transfer-Encoding: chunked'];
const head = (apiKey?: string): string => requestHead('POST /v1/pets', apiKey, ...CHUNKED);

/** Expects a response with the status on each connection, and little memory for all of them. */
async function expectStatus(status: number, connections: RawConnection[], before: number) {
  for (const connection of connections) {
    expect((await connection.response()).status).toBe(status);
    connection.close();
  }
  if (canReadMemory) expect(peakMemoryBytes(service) - before).toBeLessThan(100 * MEBIBYTE);
}

test('POST /v1/pets › 401 on 100 connections with bodies in chunks of one byte: memory grows by less than 100 MB', async () => {
  const before = canReadMemory ? peakMemoryBytes(service) : 0;
  const bytes = head() + SPACE.repeat(10_000);
  const connections = Array.from({ length: 100 }, () => RawConnection.open({ port }));
  const opened = await Promise.all(connections);
  for (const connection of opened) connection.write(bytes);
  await expectStatus(401, opened, before);
});

test('POST /v1/pets › 201 for 10 bodies of 100,000 chunks of one byte: memory grows by less than 100 MB', async () => {
  const before = canReadMemory ? peakMemoryBytes(service) : 0;
  const bytes = head(key) + SPACE.repeat(100_000 - PET.length);
  const connections = Array.from({ length: 10 }, () => RawConnection.open({ port }, bytes));
  const opened = await Promise.all(connections);
  const rest = Array.from(PET, (byte) => `1\r\n${byte}\r\n`).join('');
  for (const connection of opened) connection.write(`${rest}0\r\n\r\n`);
  await expectStatus(201, opened, before);
});

test('GET /health/live › 200, twice, before any of 10 bodies of 100,000 chunks of one byte has arrived', async () => {
  const bytes = head(key) + SPACE;
  const connections = await Promise.all(
    Array.from({ length: 10 }, () => RawConnection.open({ port }, bytes)),
  );
  // The service has begun to read the bodies.
  await send(service, '/health/live');
  for (const connection of connections) connection.write(`${SPACE.repeat(100_000)}0\r\n\r\n`);
  let inProgress = connections.length;
  const responses = Promise.all(
    connections.map((connection) => connection.response().finally(() => inProgress--)),
  );
  for (let probes = 0; probes < 2; probes++) {
    expect((await send(service, '/health/live')).status).toBe(200);
    expect(inProgress).toBe(connections.length);
  }
  for (const { status } of await responses) expect(status).toBe(400);
});
