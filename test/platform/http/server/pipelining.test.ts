import { holdItems } from '../../../harness/database/database-lock.js';
import {
  RawConnection,
  type RawResponse,
  requestHead,
} from '../../../harness/http/raw-connection.js';
import { useStore } from '../../../harness/http/store.js';
import { metric, untilMetric } from '../../../harness/service/metrics.js';

const PET = '{"name":"Frank","categoryId":1}';
const PIPELINED = 'shed_total{bound="pipelined_requests"}';
const HEADERS = ['Content-Type: application/json', `Content-Length: ${PET.length}`];

const store = useStore();
const open = (bytes = '') => RawConnection.open(store.service, bytes);
const head = (request: string, ...headers: string[]): string =>
  requestHead(request, store.owner.key, ...headers);
const createFrank = (): string => head('POST /v1/items', ...HEADERS) + PET;

async function items(): Promise<number> {
  const [row] = await store.query<{ count: number }>('SELECT count(*)::int FROM test_items');
  return row!.count;
}

/** Expects a response, the end of the connection, and the given number of items. */
async function expectLast(connection: RawConnection, status: number, count: number): Promise<void> {
  const response: RawResponse = await connection.response();
  expect([response.status, response.headers['connection']]).toEqual([status, 'close']);
  await connection.serverEnd();
  expect(await items()).toBe(count);
}

test.each<[title: string, following: () => string]>([
  ['requests', () => createFrank().repeat(15)],
  ['CONNECT', () => 'CONNECT pets:80 HTTP/1.1\r\nHost: pets:80\r\n\r\n'],
  ['bytes that are not HTTP', () => 'BROKEN\r\n\r\n'],
])(
  'POST /v1/items › 201, and %s in the same packet are not processed',
  async (_title, following) => {
    const before = await items();
    await expectLast(await open(createFrank() + following()), 201, before + 1);
  },
);

test('GET /v1/items › 200, and a request before the response is not processed', async () => {
  const shed = await metric(store.service, PIPELINED);
  const before = await items();
  const lock = await holdItems(store.database);
  const connection = await open(head('GET /v1/items?limit=1'));
  await lock.waitedFor();
  connection.write(createFrank());
  await untilMetric(store.service, PIPELINED, (value) => value === shed + 1);
  await lock.release();
  await expectLast(connection, 200, before);
});

test('POST /v1/items › one log line and one count for each processed request of clients that reset their connections', async () => {
  const counted =
    /^http_server_request_duration_seconds_count\{http_request_method="POST".* (\d+)$/gm;
  const count = async (): Promise<number> =>
    [...(await store.service.metrics()).matchAll(counted)].reduce(
      (sum, [, value]) => sum + Number(value),
      0,
    );
  const lines = (): number =>
    store.service.logs().filter(({ msg, method }) => msg === 'request' && method === 'POST').length;
  const before = { items: await items(), count: await count(), lines: lines() };
  const connections = await Promise.all(
    Array.from({ length: 20 }, () => open(createFrank().repeat(10))),
  );
  for (const { socket } of connections) socket.resetAndDestroy();
  await untilMetric(store.service, 'connections', (value) => value === 0);
  // A connection that was reset before it was accepted may still be processed.
  while (lines() - before.lines !== (await count()) - before.count);
  const processed = lines() - before.lines;
  expect(processed).toBeLessThanOrEqual(20);
  expect((await items()) - before.items).toBeLessThanOrEqual(processed);
});
