import { send } from '../harness/http/client.js';
import { expectError } from '../harness/http/error-response.js';
import { RawConnection, requestHead } from '../harness/http/raw-connection.js';
import { useStore } from '../harness/http/store.js';
import { untilMetric } from '../harness/service/metrics.js';
import { startService } from '../harness/service/service.js';

const LONG = 'a'.repeat(9_000);

const store = useStore({ env: { ANONYMOUS_REQUESTS_PER_MINUTE: '1000000' } });
const open = (message = '') => RawConnection.open(store.service, message);
const exchange = (message: string) => RawConnection.exchange(store.service, message);

/** Stands for the API key in the messages below. */
const KEY = 'THE-API-KEY';
const withKey = (message: string): string => message.replaceAll(KEY, store.owner.key);
const head = (line: string, ...headers: string[]): string => requestHead(line, KEY, ...headers);

/** Returns a message with a short title in front. */
const titled = (message: string): [title: string, message: string] => [
  JSON.stringify(message.replace(`Authorization: Bearer ${KEY}\r\n`, '')).slice(0, 90),
  message,
];

/** Returns headers which head() completes to a number of headers. */
const manyHeaders = (count: number): string[] => Array<string>(count - 2).fill('A: b');

const LIST = 'GET /v1/items HTTP/1.1';
const CHUNKED = 'Transfer-Encoding: chunked';
const UPGRADE = ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AA'];
const PET = '{"name":"A","categoryId":1}';
const CHUNKED_PET = `1b\r\n${PET}\r\n0\r\n\r\n`;

const INVALID_HOSTS = [
  'pe ts',
  'pets/',
  'user@pets',
  'pets:80:90',
  'pets:http',
  'pets:-1',
  '[::1',
  '::1',
  '[]',
  '[::g]',
  '[fe80::1%25eth0]',
  'p"ts',
  'p\xe9ts',
  'a<b>',
  'pets\\',
  'a,b',
];
const VALID_HOSTS = [
  '',
  'pets:3000',
  'pets:',
  'api.example.org',
  "a_b-c~!$&'()*+;=1",
  'p%C3%A9ts',
  '127.0.0.1:80',
  '[::1]:3000',
  '[::ffff:127.0.0.1]',
];
const INVALID_AUTHORITIES = ['', ':80', '?a', '#a'];

const withHost = (host: string, line = LIST): string =>
  head(line).replace('Host: pets', () => `Host: ${host}`);
/** Adds an item, with these bytes in place of the body. */
const add = (body: string, ...headers: string[]): string =>
  head('POST /v1/items', 'Content-Type: application/json', ...headers) + body;

describe('an invalid HTTP message gets an Error and closes the connection', () => {
  it.each<[status: number, code: string, title: string, message: string]>([
    ...[
      'hello\r\n\r\n',
      '\x00\x01\xfe\xff\r\n\r\n',
      'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
      '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
      ...['GET v1/pets HTTP/1.1', 'FETCH /v1/items', 'get /v1/items', 'GET /v1/\0'].map((line) =>
        head(line),
      ),
      ...['CONNECT pets:443', 'GET /v1/items HTTP/0.9', 'GET /v1/items HTTP/1.2'].map((line) =>
        head(line),
      ),
      ...['GET /v1/items HTTP/2.0', 'GET /v1/p\xe9ts'].map((line) => head(line)),
      head(LIST).replace('GET', 'DESCRIBE').replace('HTTP/1.1', 'RTSP/1.0'),
      ...['Bad header', 'X-A : b', 'X-A: a\r\n b', 'X-A: a\0b'].map((line) => head(LIST, line)),
      head(LIST).replaceAll('\r\n', '\n'),
      `${LIST}\r\n\r\n`,
      ...['Host: other', 'HOST: pets'].map((second) => head(LIST, second)),
      withHost('pe ts', 'GET /v1/items HTTP/1.0'),
      ...INVALID_HOSTS.map((host) => withHost(host)),
      ...INVALID_AUTHORITIES.map((authority) => head(`GET http://${authority}/v1/items HTTP/1.1`)),
      add('', 'Content-Length: 5', 'Content-Length: 6'),
      ...['-1', '9'.repeat(40)].map((length) => add('', `Content-Length: ${length}`)),
      add('0\r\n\r\n', 'Content-Length: 5', CHUNKED),
      add('0\r\n\r\n', CHUNKED, 'Content-Length: 5'),
      ...['chunked, gzip', 'gzip, chunked', 'identity'].map((coding) =>
        add('0\r\n\r\n', `Transfer-Encoding: ${coding}`),
      ),
      add(CHUNKED_PET, CHUNKED).replace('HTTP/1.1', 'HTTP/1.0'),
      ...['5\r\nhello\r\nzzz\r\n', '2\r\nhello\r\n', `${'f'.repeat(40)}\r\n`].map((chunk) =>
        add(chunk, CHUNKED),
      ),
    ].map((message): [number, string, string, string] => [
      400,
      'invalid_request',
      ...titled(message),
    ]),
    [417, 'invalid_request', ...titled(add('', 'Content-Length: 2', 'Expect: 100-continue, tea'))],
    [431, 'headers_too_large', ...titled(head(LIST, ...manyHeaders(101)))],
    [431, 'headers_too_large', ...titled(head(LIST, `X-A: ${LONG}`))],
    [431, 'headers_too_large', ...titled(head(`GET /v1/items?${LONG}`))],
    [
      431,
      'headers_too_large',
      ...titled(`${LIST}\r\n${'A:b\r\n'.repeat(1_000)}${head(LIST).slice(LIST.length + 2)}`),
    ],
    [400, 'invalid_request', ...titled(add(`5;${LONG.repeat(2)}\r\nhello`, CHUNKED))],
  ])('%i %s: %s', async (status, code, _title, message) => {
    const connection = await open(withKey(message));
    const response = await connection.response();
    expectError(response, status, code);
    expect(response.headers['connection']).toBe('close');
    await connection.serverEnd();
  });

  it('400 when the client ends the body early', async () => {
    const connection = await open(withKey(add('{"na', 'Content-Length: 9')));
    connection.socket.end();
    expectError(await connection.response(), 400, 'invalid_request');
    await connection.serverEnd();
  });

  it('is counted once for the address and not for the API key', async () => {
    // An address of its own: connections of the tests above may still time out and be counted.
    const caller = { port: store.service.port, localAddress: '127.0.0.31' };
    const invalid = withKey(head(LIST, 'Bad header'));
    for (let left = 999_999; left > 999_996; left--) {
      const connection = await RawConnection.open(caller, invalid);
      for (let count = 0; count < 5; count++) connection.write('more\r\n\r\n');
      const { headers } = await connection.response();
      expect(headers['x-ratelimit-remaining']).toBe(String(left));
    }
  });

  it('and a request after it on the connection is not executed', async () => {
    const remaining = async (): Promise<number> =>
      Number((await store.api.get('/v1/items')).headers['x-ratelimit-remaining']);
    const before = await remaining();
    const connection = await open(withKey(withHost('pe ts') + head(LIST)));
    expectError(await connection.response(), 400, 'invalid_request');
    await connection.serverEnd();
    expect(await remaining()).toBe(before - 1);
  });
});

describe('a valid HTTP message is served', () => {
  it.each(
    [
      head(LIST, 'Connection: Upgrade', 'Upgrade: websocket'),
      head(LIST, ...UPGRADE),
      head('GET /v1/items HTTP/1.0').replace('Host: pets\r\n', ''),
      head(LIST, ...manyHeaders(100)),
      head(LIST, `X-A: ${'a'.repeat(7_800)}`),
      ...VALID_HOSTS.map((host) => withHost(host)),
      ...['pets', '[::1]:3000', 'p%C3%A9ts:'].map((host) => head(`GET http://${host}/v1/items`)),
      `\r\n${head(LIST)}`,
      `${head(LIST, 'Content-Length: 5')}hello`,
      `${head(LIST, CHUNKED)}zzz\r\n`,
    ].map(titled),
  )('200: %s', async (_title, message) => {
    const response = await exchange(withKey(message));
    expect([response.status, response.text]).toEqual([200, '[]']);
  });

  it('a client that ends its side after the request gets the response', async () => {
    const connection = await open();
    connection.socket.end(withKey(head(LIST)));
    expect((await connection.response()).status).toBe(200);
    await connection.serverEnd();
  });

  // It adds items, which the tests above do not expect.
  const WEBSOCKET = ['Connection: keep-alive, upgrade', 'Upgrade: websocket, tls/1.0'];
  it.each<[title: string, upgrade: string[], length: string, body: string]>([
    ['Content-Length', UPGRADE, `Content-Length: ${PET.length}`, PET],
    ['chunks', UPGRADE, CHUNKED, CHUNKED_PET],
    ['chunks and trailers', UPGRADE, CHUNKED, CHUNKED_PET.replace(/\r\n$/, 'A: b\r\n\r\n')],
    ['chunks, to a WebSocket', WEBSOCKET, CHUNKED, CHUNKED_PET],
  ])(
    'POST with an upgrade to HTTP/2, as Java sends it, with %s: 201, and the connection closes',
    async (_title, upgrade, length, body) => {
      for (const isAtOnce of [true, false]) {
        const head = withKey(add('', length, ...upgrade));
        const connection = await open(isAtOnce ? head + body : head);
        if (!isAtOnce) for (const byte of body) connection.write(byte);
        const response = await connection.response();
        expect([response.status, response.headers['connection']]).toEqual([201, 'close']);
        await connection.serverEnd();
      }
    },
  );

  it.each([
    ['POST /v1/items', 400],
    ['OPTIONS /v1/items', 204],
    ['HEAD /v1/items', 200],
  ])('%s with an upgrade and without a body: %i', async (line, status) => {
    const connection = await open(withKey(head(line, ...UPGRADE)));
    expect((await connection.response({ hasBody: status === 400 })).status).toBe(status);
    await connection.serverEnd();
  });
});

test('no invalid message is logged as an internal error', () => {
  expect(store.service.logs().filter(({ level }) => Number(level) >= 50)).toEqual([]);
});

test('CONNECT › 400, and the client resets the connection', async () => {
  const connection = await RawConnection.open(store.service, head('CONNECT pets:443 HTTP/1.1'));
  expectError(await connection.response(), 400, 'invalid_request');
  connection.socket.resetAndDestroy();
  await untilMetric(store.service, 'connections', (value) => value === 0);
});

test('an address over its limit › 429 with Retry-After on the socket; a connection that is reset is not counted', async () => {
  const env = { ANONYMOUS_REQUESTS_PER_MINUTE: '4' };
  const limited = await startService({ database: store.database, env });
  for (const bytes of ['', 'GET /v1/items HT']) {
    const { socket } = await RawConnection.open(limited, bytes);
    // By then, the service has accepted the connection: it accepts this newer one afterwards.
    await send(limited, '/health/live');
    socket.resetAndDestroy();
  }
  await untilMetric(limited, 'connections', (value) => value === 0);
  const messages = [
    'hello\r\n\r\n',
    `${LIST}\r\n\r\n`,
    'CONNECT pets:1 HTTP/1.1\r\nHost: pets\r\n\r\n',
    `${LIST}\r\nHost: pets\r\nX-A: ${'a'.repeat(20_000)}\r\n\r\n`,
  ];
  for (const message of messages) {
    expect([400, 431]).toContain((await RawConnection.exchange(limited, message)).status);
  }
  for (const message of messages) {
    const connection = await RawConnection.open(limited, message);
    const response = await connection.response();
    expectError(response, 429, 'rate_limit_exceeded');
    expect(response.headers).toMatchObject({
      connection: 'close',
      'retry-after': '60',
      'x-ratelimit-limit': '4',
      'x-ratelimit-remaining': '0',
    });
    await connection.serverEnd();
  }
  // The one without Host is logged as a request.
  const malformed = () => limited.logs().filter(({ msg }) => msg === 'malformed request');
  await limited.waitForLog(() => malformed().length === 6);
  expect(malformed().map(({ status }) => status)).toEqual([400, 400, 431, 429, 429, 429]);
  await limited.close();
});
