import { setTimeout as delay } from 'node:timers/promises';
import { ApiClient } from '../harness/http/client.js';
import { expectError } from '../harness/http/error-response.js';
import { createOwner } from '../harness/database/factories.js';
import { RawConnection, requestHead } from '../harness/http/raw-connection.js';
import { startService, type TestService } from '../harness/service/service.js';

const BYTE_INTERVAL_MS = 250;
const PET = '{"name":"Frank","categoryId":1}';

let service: TestService;
let key: string;

beforeAll(async () => {
  service = await startService({
    env: {
      HEADERS_TIMEOUT_SECONDS: '1',
      REQUEST_TIMEOUT_SECONDS: '1',
      ANONYMOUS_REQUESTS_PER_MINUTE: '1000000',
    },
  });
  ({ key } = await createOwner(service.database));
});
afterAll(() => service.close());

const create = (version: string, ...headers: string[]): string =>
  requestHead(`POST /v1/pets HTTP/${version}`, key, 'Content-Type: application/json', ...headers);

type SlowClient = [title: string, atOnce: () => string, later: () => readonly string[]];

const header = (): readonly string[] => Array.from(`X-A: ${'b'.repeat(100)}`);
const body = (): readonly string[] => Array.from(PET);
const chunked = (): string => create('1.1', 'Transfer-Encoding: chunked');

const SLOW: SlowClient[] = [
  ['in a request line', () => '', () => Array.from(requestHead('GET /v1/pets HTTP/1.1', key))],
  [
    'in a request line of HTTP/1.0',
    () => '',
    () => Array.from(requestHead('GET /v1/pets HTTP/1.0', key)),
  ],
  ['in a header', () => requestHead('GET /v1/pets HTTP/1.1', key).slice(0, -2), header],
  ['in a header of HTTP/1.0', () => requestHead('GET /v1/pets HTTP/1.0', key).slice(0, -2), header],
  ['in empty lines before a request', () => '', () => Array.from('\r\n'.repeat(100))],
  ['in a body', () => create('1.1', `Content-Length: ${PET.length}`), body],
  ['in a body of HTTP/1.0', () => create('1.0', `Content-Length: ${PET.length}`), body],
  ['in a chunk', () => `${chunked()}${PET.length.toString(16)}\r\n`, body],
  ['in chunks of one byte', chunked, () => body().map((byte) => `1\r\n${byte}\r\n`)],
  ['in a chunk extension', () => `${chunked()}1;`, () => Array.from('a'.repeat(100))],
  ['in trailers', () => `${chunked()}1\r\n{\r\n0\r\nX-A: `, () => Array.from('b'.repeat(100))],
];

test.concurrent.each(SLOW)(
  '408 and the end of the connection for one byte now and then %s, while others get 200',
  async (_title, atOnce, later) => {
    const connection = await RawConnection.open(service, atOnce());
    const bytes = later();
    let next = 0;
    const drip = setInterval(() => {
      if (next < bytes.length && connection.socket.writable) connection.write(bytes[next++]!);
    }, BYTE_INTERVAL_MS);
    try {
      const closed = connection.response().then(async (response) => {
        clearInterval(drip);
        await connection.serverEnd();
        return response;
      });
      const over = new AbortController();
      closed.finally(() => over.abort()).catch(() => undefined);
      while (!over.signal.aborted) {
        expect((await new ApiClient(service, key).get('/v1/pets')).status).toBe(200);
        await delay(100);
      }
      const response = await closed;
      expectError(response, 408, 'request_timeout');
      expect(response.headers['connection']).toBe('close');
      // The limit closed the connection before the request ended.
      expect(next).toBeLessThan(bytes.length);
    } finally {
      clearInterval(drip);
    }
  },
);
