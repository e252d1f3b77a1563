import { setTimeout as delay } from 'node:timers/promises';
import { ApiClient } from '../harness/http/client.js';
import { createOwner } from '../harness/database/factories.js';
import { RawConnection, requestHead } from '../harness/http/raw-connection.js';
import { startService, type TestService } from '../harness/service/service.js';
import { metric, untilMetric } from '../harness/service/metrics.js';

const MAX_BYTES = 102_400;
const BODIES = 10;
const PET = '{"name":"Frank","categoryId":1}';

let service: TestService;
let keys: string[];

beforeAll(async () => {
  service = await startService({ env: { MAX_ARRIVING_MEBIBYTES: '1' } });
  keys = await Promise.all(
    Array.from({ length: BODIES + 2 }, async () => (await createOwner(service.database)).key),
  );
});
afterAll(() => service.close());

const HEADERS = ['Content-Type: application/json', `Content-Length: ${MAX_BYTES}`];
const head = (key: string): string => requestHead('POST /v1/items', key, ...HEADERS);

/** Sends a body of 100 KiB except for its last byte. */
const park = (key: string): Promise<RawConnection> =>
  RawConnection.open(service, head(key) + PET + ' '.repeat(MAX_BYTES - PET.length - 1));

afterEach(() => untilMetric(service, 'arriving_body_bytes', (bytes) => bytes === 0));

test('POST /v1/items › 503 for the bodies that wait longest when the bound is reached, 201 for all others', async () => {
  const rejected = 'shed_total{bound="arriving_bodies"}';
  const before = await metric(service, rejected);
  const parked = [await park(keys[0]!)];
  await untilMetric(service, 'arriving_body_bytes', (bytes) => bytes >= MAX_BYTES);
  for (const key of keys.slice(1)) parked.push(await park(key));
  await untilMetric(service, rejected, (count) => count > before);
  expect(await metric(service, 'arriving_body_bytes')).toBeLessThanOrEqual(1_048_576);
  const { status, headers, text } = await parked[0]!.response();
  expect([status, headers['retry-after'], headers['connection']]).toEqual([503, '2', 'close']);
  expect(JSON.parse(text)).toMatchObject({ code: 'service_unavailable' });
  const complete = await new ApiClient(service, keys[0]).post('/v1/items', PET);
  expect(complete.status).toBe(201);
  expect((await parked.at(-1)!.write('\n').response()).status).toBe(201);
  for (const connection of parked) connection.close();
});

test('POST /v1/items › requests without a byte of their body count 24 KB each', async () => {
  const [key = ''] = keys;
  const waiting = await Promise.all(
    Array.from({ length: 45 }, () => RawConnection.open(service, head(key))),
  );
  // 42 of them fit into 1 MiB.
  for (const connection of waiting.slice(0, 3))
    expect((await connection.response()).status).toBe(503);
  expect(await metric(service, 'arriving_body_bytes')).toBe(42 * 24 * 1_024);
  for (const connection of waiting) connection.close();
});

test('POST /v1/items › connections that close at any moment leave nothing behind', async () => {
  const [key = ''] = keys;
  for (let round = 0; round < 20; round++) {
    const connections = await Promise.all(
      Array.from({ length: 20 }, () => RawConnection.open(service)),
    );
    for (const [index, connection] of connections.entries()) {
      connection.write(head(key) + ' '.repeat(index * 500));
      if (index % 2 === 0) connection.close();
    }
    await delay(round % 5);
    for (const connection of connections) connection.close();
  }
});
