import { setTimeout as delay } from 'node:timers/promises';
import { holdTable } from '../../../harness/database/database-lock.js';
import { createOwner } from '../../../harness/database/factories.js';
import { ApiClient } from '../../../harness/http/client.js';
import { RawConnection, requestHead } from '../../../harness/http/raw-connection.js';
import { useStore } from '../../../harness/http/store.js';
import { metric, untilMetric } from '../../../harness/service/metrics.js';

const MAX_BYTES = 102_400;
/** More than there is room for. */
const BODIES = 12;
const PET = '{"name":"Frank","categoryId":1}';

const store = useStore({ env: { MAX_ARRIVING_MEBIBYTES: '1' } });

const HEADERS = ['Content-Type: application/json', `Content-Length: ${MAX_BYTES}`];
const head = (): string => requestHead('POST /v1/items', store.owner.key, ...HEADERS);
const open = (body = ''): Promise<RawConnection> =>
  RawConnection.open(store.service, head() + body);

/** Sends a body of 100 KiB except for its last byte. */
const park = (): Promise<RawConnection> => open(PET.padEnd(MAX_BYTES - 1));

afterEach(() => untilMetric(store.service, 'arriving_body_bytes', (bytes) => bytes === 0));

test('POST /v1/items › 503 for the bodies that wait longest when the bound is reached, 201 for all others', async () => {
  const { service, api } = store;
  const rejected = 'shed_total{bound="arriving_bodies"}';
  const before = await metric(service, rejected);
  const parked = [await park()];
  await untilMetric(service, 'arriving_body_bytes', (bytes) => bytes >= MAX_BYTES);
  while (parked.length < BODIES) parked.push(await park());
  await untilMetric(service, rejected, (count) => count > before);
  expect(await metric(service, 'arriving_body_bytes')).toBeLessThanOrEqual(1_048_576);
  const { status, headers, text } = await parked[0]!.response();
  expect([status, headers['retry-after'], headers['connection']]).toEqual([503, '2', 'close']);
  expect(JSON.parse(text)).toMatchObject({ code: 'service_unavailable' });
  expect((await api.post('/v1/items', PET)).status).toBe(201);
  expect((await parked.at(-1)!.write('\n').response()).status).toBe(201);
  for (const connection of parked) connection.close();
});

test('POST /v1/items › requests without a byte of their body count 24 KB each', async () => {
  const waiting = await Promise.all(Array.from({ length: 45 }, () => open()));
  // 42 of them fit into 1 MiB.
  for (const connection of waiting.slice(0, 3))
    expect((await connection.response()).status).toBe(503);
  expect(await metric(store.service, 'arriving_body_bytes')).toBe(42 * 24 * 1_024);
  for (const connection of waiting) connection.close();
});

test('POST /v1/items › a body that grows takes the room of as many waiting requests as it needs', async () => {
  const waiting = await Promise.all(Array.from({ length: 41 }, () => open()));
  await untilMetric(store.service, 'arriving_body_bytes', (bytes) => bytes === 41 * 24 * 1_024);
  const growing = await open();
  await untilMetric(store.service, 'arriving_body_bytes', (bytes) => bytes === 42 * 24 * 1_024);
  const rejected = 'shed_total{bound="arriving_bodies"}';
  const before = await metric(store.service, rejected);
  growing.write(PET.padEnd(MAX_BYTES - 1));
  for (const connection of waiting.slice(0, 3))
    expect((await connection.response()).status).toBe(503);
  const others = 38 * 24 * 1_024;
  await untilMetric(store.service, 'arriving_body_bytes', (bytes) => bytes >= others + MAX_BYTES);
  expect(await metric(store.service, rejected)).toBe(before + 3);
  for (const connection of [...waiting, growing]) connection.close();
});

test('POST /v1/items › a connection that is reset while its API key is looked up leaves nothing behind', async () => {
  const { database, service } = store;
  const { key } = await createOwner(database);
  const lock = await holdTable(database, 'api_keys', 'ACCESS EXCLUSIVE');
  const connection = await RawConnection.open(
    service,
    requestHead('POST /v1/items', key, ...HEADERS),
  );
  await lock.waitedFor();
  connection.socket.resetAndDestroy();
  await untilMetric(service, 'requests_in_progress', (count) => count === 0);
  await lock.release();
  expect((await new ApiClient(service, key).get('/v1/items')).status).toBe(200);
});

test('POST /v1/items › connections that close at any moment leave nothing behind', async () => {
  for (let round = 0; round < 20; round++) {
    const connections = await Promise.all(
      Array.from({ length: 20 }, () => RawConnection.open(store.service)),
    );
    for (const [index, connection] of connections.entries()) {
      connection.write(head() + ' '.repeat(index * 500));
      if (index % 2 === 0) connection.close();
    }
    await delay(round % 5);
    for (const connection of connections) connection.close();
  }
});
