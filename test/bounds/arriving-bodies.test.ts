import 'reflect-metadata';
import { setTimeout as delay } from 'node:timers/promises';
import { Settings } from '../../src/platform/config/settings.js';
import { ArrivingBodies } from '../../src/platform/http/body/arriving-bodies.js';
import { ApiClient } from '../harness/http/client.js';
import { createOwner } from '../harness/database/factories.js';
import { RawConnection, requestHead } from '../harness/http/raw-connection.js';
import { startService, type TestService } from '../harness/service/service.js';
import { metric, untilMetric } from '../harness/service/metrics.js';

const MAX_BYTES = 102_400;
/** A caller can have a thirty-second of the bytes, and at least one body. */
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
const head = (key: string): string => requestHead('POST /v1/pets', key, ...HEADERS);

/** Sends a body of 100 KiB except for its last byte. */
const park = (key: string): Promise<RawConnection> =>
  RawConnection.open(service, head(key) + PET + ' '.repeat(MAX_BYTES - PET.length - 1));

/** Fills the memory for bodies, 1 MiB, with those of ten callers. */
async function fill(): Promise<RawConnection[]> {
  const parked: RawConnection[] = [];
  for (const key of keys.slice(0, BODIES)) parked.push(await park(key));
  const full = BODIES * (MAX_BYTES - 1);
  await untilMetric(service, 'pets_arriving_body_bytes', (bytes) => bytes === full);
  return parked;
}

async function expectReleased(): Promise<void> {
  await untilMetric(service, 'pets_arriving_bodies', (count) => count === 0);
  expect(await metric(service, 'pets_arriving_body_bytes')).toBe(0);
}

afterEach(expectReleased);

test('POST /v1/pets › 503 for a second body of a caller whose body does not end, and 201 for others', async () => {
  const [hostile = '', other = ''] = keys;
  const parked = await park(hostile);
  await untilMetric(service, 'pets_arriving_body_bytes', (bytes) => bytes === MAX_BYTES - 1);

  const second = await park(hostile);
  const { status, headers, text } = await second.response();

  expect([status, headers['retry-after'], headers['connection']]).toEqual([503, '2', 'close']);
  expect(JSON.parse(text)).toMatchObject({ code: 'service_unavailable' });
  const late = await park(other);
  await untilMetric(service, 'pets_arriving_body_bytes', (bytes) => bytes === 2 * (MAX_BYTES - 1));
  expect((await late.write('\n').response()).status).toBe(201);
  for (const connection of [parked, second, late]) connection.close();
});

test('POST /v1/pets › 503 for every body that arrives in part over the bound, until the connections close, 201 for a complete one', async () => {
  const shed = 'pets_shed_total{bound="arriving_bodies"}';
  const before = await metric(service, shed);
  const parked = await fill();
  expect(await metric(service, 'pets_arriving_bodies')).toBe(BODIES);
  const last = await park(keys[BODIES]!);
  await untilMetric(service, shed, (count) => count > before);

  const complete = await new ApiClient(service, keys[BODIES]).post('/v1/pets', PET);
  expect(complete.status).toBe(201);
  expect((await last.response()).status).toBe(503);
  for (const connection of [...parked, last]) connection.close();
});

test('POST /v1/pets › connections that close at any moment leave nothing behind', async () => {
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

test('a caller can have a thirty-second of MAX_ARRIVING_MEBIBYTES', () => {
  const bodies = new ArrivingBodies(new Settings({ MAX_ARRIVING_MEBIBYTES: '64' }));
  bodies.hold('one', 2 * 1_048_576);
  expect(() => bodies.hold('one', 1)).toThrow(expect.objectContaining({ status: 503 }) as Error);
  bodies.hold('other', 1);
  bodies.release('one', 1);
  bodies.hold('one', 1);
  expect([bodies.bytes, bodies.rejected]).toEqual([2 * 1_048_576 + 1, 1]);
});
