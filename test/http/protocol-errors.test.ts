import { expectError } from '../harness/http/error-response.js';
import { createOwner } from '../harness/database/factories.js';
import { RawConnection } from '../harness/http/raw-connection.js';
import { startService, type TestService } from '../harness/service/service.js';
import type { ErrorCode } from '../../src/platform/errors/catalogue.js';

const LONG = 'a'.repeat(9_000);
/** Far more than the service reads of a message that it rejects. */
const FLOOD = Buffer.alloc(1_000_000, 'a');

let service: TestService;
let authorized: string;

beforeAll(async () => {
  service = await startService({ env: { ANONYMOUS_REQUESTS_PER_MINUTE: '1000000' } });
  const { key } = await createOwner(service.database);
  authorized = `Host: pets\r\nAuthorization: Bearer ${key}\r\n`;
});
afterAll(() => service.close());

/** Returns the head of a request with an API key. */
function head(line: string, ...headers: string[]): string {
  return `${line}\r\n${authorized}${headers.map((header) => `${header}\r\n`).join('')}\r\n`;
}

/** Returns headers which head() completes to a number of headers. */
const manyHeaders = (count: number): string[] => Array<string>(count - 2).fill('A: b');

const LIST = 'GET /v1/pets HTTP/1.1';
const ADD = 'POST /v1/pets HTTP/1.1';
const JSON_TYPE = 'Content-Type: application/json';
const CHUNKED = 'Transfer-Encoding: chunked';
const UPGRADE = ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AA'];
const CHUNKED_PET = '1b\r\n{"name":"A","categoryId":1}\r\n0\r\n\r\n';

const INVALID_HOSTS = [
  ...['pe ts', 'pets/', 'user@pets', 'pets:80:90', 'pets:http', 'pets:-1', '[::1', '::1', '[]'],
  ...[
    '[::g]',
    '[1::2::3]',
    '[fe80::1%25eth0]',
    '[v1.]',
    '[v1.a:b]',
    'p%zzts',
    'p%4',
    'p"ts',
    'p\xe9ts',
  ],
  ...['a<b>', 'pets\\'],
];
const VALID_HOSTS = [
  ...['', 'pets:3000', 'pets:', 'api.example.org', "a_b-c~!$&'()*+,;=1", 'p%C3%A9ts'],
  ...['127.0.0.1:80', '[::1]:3000', '[::ffff:127.0.0.1]'],
];
const INVALID_AUTHORITIES = 'user@pets pets:x [::g] [::1]:1:2 p%zzts :80 p%4 [ a[b'.split(' ');

const withHost = (host: string, line = LIST): string =>
  head(line).replace('Host: pets', () => `Host: ${host}`);
/** Adds an animal, with these bytes in place of the body. */
const add = (body: string, ...headers: string[]): string => head(ADD, JSON_TYPE, ...headers) + body;

describe('an invalid HTTP message gets an Error and closes the connection', () => {
  test.each<[title: string, message: () => string]>([
    ['not HTTP', () => 'hello\r\n\r\n'],
    ['binary', () => '\x00\x01\xfe\xff\r\n\r\n'],
    ['a TLS handshake', () => '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
    ['the preface of HTTP/2', () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['an invalid target', () => head('GET v1/pets HTTP/1.1')],
    ['an unknown method', () => head('FETCH /v1/pets HTTP/1.1')],
    ['a method in lower case', () => head('get /v1/pets HTTP/1.1')],
    ['a method of RTSP', () => head('DESCRIBE /v1/pets RTSP/1.0')],
    ['CONNECT', () => head('CONNECT pets:443 HTTP/1.1')],
    ['HTTP/0.9', () => head('GET /v1/pets HTTP/0.9')],
    ['HTTP/1.2', () => head('GET /v1/pets HTTP/1.2')],
    ['HTTP/2.0', () => head('GET /v1/pets HTTP/2.0')],
    ['a NUL in the target', () => head('GET /v1/\0 HTTP/1.1')],
    ['a target with a non-ASCII byte', () => head('GET /v1/p\xe9ts HTTP/1.1')],
    ['a header without a colon', () => head(LIST, 'Bad header')],
    ['white space before the colon', () => head(LIST, 'X-A : b')],
    ['a folded header', () => head(LIST, 'X-A: a\r\n b')],
    ['a NUL in a header', () => head(LIST, 'X-A: a\0b')],
    ['lines that end with LF only', () => head(LIST).replaceAll('\r\n', '\n')],
    ['no Host', () => `${LIST}\r\n\r\n`],
    ['two Hosts', () => head(LIST, 'Host: other')],
    ['two equal Hosts', () => head(LIST, 'HOST: pets')],
    ['an invalid Host with HTTP/1.0', () => withHost('pe ts', 'GET /v1/pets HTTP/1.0')],
    ...INVALID_HOSTS.map((host): [string, () => string] => [
      `the Host ${host}`,
      () => withHost(host),
    ]),
    ...INVALID_AUTHORITIES.map((authority): [string, () => string] => [
      `a target with the authority ${authority}`,
      () => head(`GET http://${authority}/v1/pets HTTP/1.1`),
    ]),
    ['two Content-Length headers', () => head(ADD, 'Content-Length: 5', 'Content-Length: 6')],
    ['a negative Content-Length', () => head(ADD, 'Content-Length: -1')],
    ['a Content-Length that overflows', () => head(ADD, `Content-Length: ${'9'.repeat(40)}`)],
    ['Content-Length and chunked', () => add('0\r\n\r\n', 'Content-Length: 5', CHUNKED)],
    ['chunked and Content-Length', () => add('0\r\n\r\n', CHUNKED, 'Content-Length: 5')],
    ['chunked is not the last coding', () => add('0\r\n\r\n', `${CHUNKED}, gzip`)],
    ['a coding before chunked', () => add('0\r\n\r\n', 'Transfer-Encoding: gzip, chunked')],
    ['another coding without chunked', () => add('', 'Transfer-Encoding: identity')],
    [
      'chunked with HTTP/1.0',
      () => head('POST /v1/pets HTTP/1.0', JSON_TYPE, CHUNKED) + CHUNKED_PET,
    ],
    ['an invalid chunk', () => add('5\r\nhello\r\nzzz\r\n', CHUNKED)],
    ['a chunk longer than its size', () => add('2\r\nhello\r\n', CHUNKED)],
    ['chunked with an Upgrade header', () => add(CHUNKED_PET, CHUNKED, ...UPGRADE)],
    ['a chunk size that overflows', () => add(`${'f'.repeat(40)}\r\n`, CHUNKED)],
  ])('%s: 400 invalid_request', async (_title, message) => {
    await expectRejection(message(), 400, 'invalid_request');
  });

  test.each<[title: string, status: number, code: ErrorCode, message: () => string]>([
    [
      'an unsupported expectation in addition to 100-continue',
      417,
      'invalid_request',
      () => add('', 'Content-Length: 2', 'Expect: 100-continue, tea'),
    ],
    ['101 headers', 431, 'headers_too_large', () => head(LIST, ...manyHeaders(101))],
    ['9,000 bytes of headers', 431, 'headers_too_large', () => head(LIST, `X-A: ${LONG}`)],
    [
      'thousands of headers before the API key',
      431,
      'headers_too_large',
      () => `${LIST}\r\n${'A:b\r\n'.repeat(1_000)}${authorized}\r\n`,
    ],
    ['a long target', 431, 'headers_too_large', () => head(`GET /v1/pets?${LONG} HTTP/1.1`)],
    [
      'large chunk extensions',
      413,
      'payload_too_large',
      () => add(`5;${LONG.repeat(2)}\r\nhello`, CHUNKED),
    ],
  ])('%s: %i %s', async (_title, status, code, message) => {
    await expectRejection(message(), status, code);
  });

  async function expectRejection(message: string, status: number, code: ErrorCode): Promise<void> {
    const connection = await RawConnection.open(service, message);
    const response = await connection.response();
    expectError(response, status, code);
    expect(response.headers['connection']).toBe('close');
    await connection.serverEnd();
  }

  test.each([
    ['ends the body early', []],
    ['ends the body early after an Upgrade header', UPGRADE],
  ])('400 when the client %s', async (_title, headers) => {
    const message = add('{"na', 'Content-Length: 9', ...headers);
    const connection = await RawConnection.open(service, message);
    connection.socket.end();
    expectError(await connection.response(), 400, 'invalid_request');
    await connection.serverEnd();
  });

  test('it is counted once for the address and not for the API key', async () => {
    // An address of its own: connections of the tests above may still time out and be counted.
    const caller = { port: service.port, localAddress: '127.0.0.31' };
    const first = await RawConnection.exchange(caller, head(LIST, 'Bad header'));
    const connection = await RawConnection.open(caller, head(LIST, 'Bad header'));
    for (let count = 0; count < 5; count++) connection.write('more\r\n\r\n');
    const second = await connection.response();
    const third = await RawConnection.exchange(caller, head(LIST, 'Bad header'));
    const remaining = [first, second, third].map(({ headers }) =>
      Number(headers['x-ratelimit-remaining']),
    );
    expect(remaining).toEqual([remaining[0], remaining[0]! - 1, remaining[0]! - 2]);
    expect(first.headers['x-ratelimit-limit']).toBe('1000000');
  });

  test('a request after it on the connection is not executed', async () => {
    const remaining = async (): Promise<number> =>
      Number((await RawConnection.exchange(service, head(LIST))).headers['x-ratelimit-remaining']);
    const before = await remaining();
    const connection = await RawConnection.open(service, withHost('pe ts') + head(LIST));
    expectError(await connection.response(), 400, 'invalid_request');
    await connection.serverEnd();
    expect(await remaining()).toBe(before - 1);
  });

  test.each([
    ['an invalid header', () => head(LIST, 'Bad header')],
    ['a large header', () => `${LIST}\r\nHost: pets\r\nX-A: ${LONG}`],
    ['an invalid chunk', () => add('zzz\r\n', CHUNKED)],
  ])('%s: a client that keeps sending gets the response and no reset', async (_title, message) => {
    const connection = await RawConnection.open(service, message());
    connection.write(FLOOD).write(FLOOD);
    const response = await connection.response();
    expect(response.headers['connection']).toBe('close');
    await connection.serverEnd();
  });
});

test('an invalid message on a kept-alive connection is rejected', async () => {
  const connection = await RawConnection.open(service, head(LIST));
  expect((await connection.response()).headers['connection']).toBe('keep-alive');
  expectError(await connection.write('garbage\r\n\r\n').response(), 400, 'invalid_request');
  await connection.serverEnd();
});

describe('a valid HTTP message is served', () => {
  test.each([
    ['an unsupported upgrade', () => head(LIST, 'Connection: Upgrade', 'Upgrade: websocket')],
    ['an upgrade to clear-text HTTP/2', () => head(LIST, ...UPGRADE)],
    ['HTTP/1.0 without a Host', () => head('GET /v1/pets HTTP/1.0').replace('Host: pets\r\n', '')],
    ['100 headers', () => head(LIST, ...manyHeaders(100))],
    ['8,000 bytes of headers', () => head(LIST, `X-A: ${'a'.repeat(7_800)}`)],
    ...VALID_HOSTS.map((host): [string, () => string] => [
      `the Host "${host}"`,
      () => withHost(host),
    ]),
    ...['pets', '[::1]:3000', 'p%C3%A9ts:'].map((authority): [string, () => string] => [
      `a target with the authority ${authority}`,
      () => head(`GET http://${authority}/v1/pets HTTP/1.1`),
    ]),
    ['an empty line before the request', () => `\r\n${head(LIST)}`],
    ['a GET with a body', () => `${head(LIST, 'Content-Length: 5')}hello`],
    ['an invalid body that the service does not read', () => `${head(LIST, CHUNKED)}zzz\r\n`],
  ])('%s: 200', async (_title, message) => {
    const response = await RawConnection.exchange(service, message());
    expect([response.status, response.text]).toEqual([200, '[]']);
  });

  test('a client that ends its side after the request gets the response', async () => {
    const connection = await RawConnection.open(service);
    connection.socket.end(head(LIST));
    expect((await connection.response()).status).toBe(200);
    await connection.serverEnd();
  });
});

test('no invalid message is logged as an internal error', () => {
  expect(service.logs().filter(({ level }) => Number(level) >= 50)).toEqual([]);
});

// It adds animals, which the tests above do not expect.
test('POST with an upgrade to HTTP/2, as Java sends it: 201, and the connection closes', async () => {
  const body = '{"name":"Frank","categoryId":1}';
  const message = add(body, `Content-Length: ${body.length}`, ...UPGRADE);
  const connection = await RawConnection.open(service, message);
  const response = await connection.response();
  expect([response.status, response.headers['connection']]).toEqual([201, 'close']);
  await connection.serverEnd();
});
