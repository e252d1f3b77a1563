import { useDatabase } from '../../../harness/database/database.js';
import { createOwner } from '../../../harness/database/factories.js';
import { expectError } from '../../../harness/http/error-response.js';
import { ApiClient, send } from '../../../harness/http/client.js';
import { RawConnection, requestHead } from '../../../harness/http/raw-connection.js';
import { metric } from '../../../harness/service/metrics.js';
import { type BuiltService, startBuiltService } from '../../../harness/service/service.js';

const MAX_CHUNKS = 256;
const PET = '{"name":"Frank","categoryId":1}';
const SPACE = '1\r\n \r\n';
/** 65 KB, which arrive at once. */
const MANY = SPACE.repeat(10_800);

const database = useDatabase();
let service: BuiltService;
let port: number;
let key: string;

beforeAll(async () => {
  const env = { DATABASE_URL: database.url, ANONYMOUS_REQUESTS_PER_MINUTE: '1000000' };
  service = await startBuiltService(env);
  port = Number(new URL(service.url).port);
  ({ key } = await createOwner(database));
});

const CHUNKED = ['Content-Type: application/json', 'Transfer-Encoding: chunked'];
const head = (apiKey?: string): string => requestHead('POST /v1/items', apiKey, ...CHUNKED);

/** Returns the CPU that the service takes for a request on a new connection, in seconds. */
async function cpuOf(bytes: string, status: number): Promise<number> {
  const cpu = (): Promise<number> => metric(service, 'process_cpu_seconds_total');
  const before = await cpu();
  for (let request = 0; request < 50; request++) {
    expect((await RawConnection.exchange({ port }, bytes)).status).toBe(status);
  }
  return (await cpu()) - before;
}

test.each([
  ['401', '', () => undefined, 401],
  ['413', 'with an API key ', () => key, 413],
])(
  'POST /v1/items › %s %sfor 10,800 chunks of one byte, and the parser does not look at all of them',
  async (_status, _as, as, status) => {
    const attack = head(as()) + MANY;
    await cpuOf(attack, status);
    // Twice as much is promised without an API key. Without the bound, it is 20 times as much.
    const plain = await cpuOf(requestHead('GET /v1/items'), 401);
    expect(await cpuOf(attack, status)).toBeLessThan(8 * plain);
  },
);

test('POST /v1/items › 201 for a body in 256 chunks, 413 in 257', async () => {
  const caller = new ApiClient(service, key);
  expect((await caller.get('/v1/items')).status).toBe(200);
  for (const [more, status] of [
    [0, 201],
    [1, 413],
  ] as const) {
    const chunks = Array.from(PET, (byte) => `1\r\n${byte}\r\n`).join('');
    const spaces = SPACE.repeat(MAX_CHUNKS + more - PET.length);
    const body = `${spaces}${chunks}0\r\n\r\n`;
    for (const sent of [[body], [body.slice(0, 1_000), body.slice(1_000)]]) {
      const connection = await RawConnection.open({ port }, head(key));
      for (const part of sent) connection.write(part);
      const response = await connection.response();
      if (status === 413) expectError(response, 413, 'payload_too_large');
      else expect(response.status).toBe(201);
      connection.close();
    }
  }
});

test('POST /v1/items › 201 for a body with Content-Length, in however many pieces it arrives', async () => {
  const body = PET.padEnd(2 * MAX_CHUNKS);
  const headers = [CHUNKED[0]!, `Content-Length: ${body.length}`];
  const connection = await RawConnection.open(
    { port },
    requestHead('POST /v1/items', key, ...headers),
  );
  connection.socket.setNoDelay();
  for (const byte of body) {
    connection.write(byte);
    // The service has usually read the byte when it responds.
    await send(service, '/health/live');
  }
  expect((await connection.response()).status).toBe(201);
  connection.close();
});

test('POST /v1/items › bodies of other connections arrive completely after a parser has ignored chunks', async () => {
  const attack = `${head(key)}${MANY}0\r\n\r\nCONNECT pets:80 HTTP/1.1\r\nHost: pets:80\r\n\r\n`;
  const created = requestHead(
    'POST /v1/items',
    key,
    ...CHUNKED.slice(0, 1),
    `Content-Length: ${PET.length}`,
  );
  for (let round = 0; round < 20; round++) {
    const attacking = RawConnection.exchange({ port }, attack);
    const others = Array.from({ length: 5 }, () => RawConnection.exchange({ port }, created + PET));
    expect((await attacking).status).toBe(413);
    for (const { status } of await Promise.all(others)) expect(status).toBe(201);
  }
});

test('GET /v1/items › a request in an ignored body is not processed', async () => {
  const smuggled = requestHead('GET /v1/items', key);
  const connection = await RawConnection.open({ port }, head() + smuggled);
  const response = await connection.response();
  expect([response.status, response.headers['connection']]).toEqual([401, 'close']);
  connection.write(smuggled);
  await connection.serverEnd();
  connection.close();
});
