import { once } from 'node:events';
import { ApiClient } from '../harness/http/client.js';
import { expectError } from '../harness/http/error-response.js';
import { createOwner } from '../harness/database/factories.js';
import { RawConnection, requestHead } from '../harness/http/raw-connection.js';
import { startService, type TestService } from '../harness/service/service.js';
import type { ErrorCode } from '../../src/platform/errors/catalogue.js';

/** The most that the service reads of a rejected body. More than the buffers of the sockets hold. */
const SWALLOWED_BYTES = 30_000_000;
const GIGABYTE = 1_000_000_000;
const JSON_TYPE = 'Content-Type: application/json';
const UPGRADE = ['Connection: Upgrade', 'Upgrade: websocket'];
const LONG = `Content-Length: ${GIGABYTE}`;
const PET = '{"name":"Frank","categoryId":1}';

let service: TestService;
let key: string;
let spentKey: string;

beforeAll(async () => {
  service = await startService({
    env: { BAN_AFTER_REJECTIONS: '0', ANONYMOUS_REQUESTS_PER_MINUTE: '1000000' },
  });
  ({ key } = await createOwner(service.database));
  ({ key: spentKey } = await createOwner(service.database, {
    limits: { perMinute: 1, perDay: 10 },
  }));
  await RawConnection.exchange(service, requestHead('GET /v1/pets', spentKey));
});
afterAll(() => service.close());

type Rejected = [
  title: string,
  status: number,
  code: ErrorCode,
  method: string,
  path: string,
  as: () => string | undefined,
];

const REJECTED: Rejected[] = [
  ['without a key', 401, 'missing_api_key', 'POST', '/v1/pets', () => undefined],
  ['over the limit', 429, 'rate_limit_exceeded', 'POST', '/v1/pets', () => spentKey],
  ['at an unknown path', 404, 'route_not_found', 'POST', '/v1/nope', () => key],
  ['with another method', 405, 'method_not_allowed', 'PUT', '/v1/pets', () => key],
  ['over the size limit', 413, 'payload_too_large', 'POST', '/v1/pets', () => key],
];

describe.each(REJECTED)('a rejected body %s', (_title, status, code, method, path, as) => {
  const declared = [JSON_TYPE, LONG];

  test(`${status} before the body is sent`, async () => {
    const message = requestHead(`${method} ${path}`, as(), ...declared);
    const connection = await RawConnection.open(service, message);
    const startedAt = performance.now();
    const response = await connection.response();
    expect(performance.now() - startedAt).toBeLessThan(1_000);
    expectError(response, status, code);
    expect(response.headers['connection']).toBe('close');
    await connection.serverEnd();
    connection.close();
  });

  test(`${status} instead of 100 Continue`, async () => {
    const message = requestHead(`${method} ${path}`, as(), ...declared, 'Expect: 100-continue');
    expectError(await RawConnection.exchange(service, message), status, code);
  });

  test(`${status} for a client that keeps sending`, async () => {
    const body = Buffer.alloc(1_000_000, ' ');
    const caller = new ApiClient(service, as());
    const headers = { 'Content-Type': 'application/json', 'Content-Length': String(body.length) };
    expectError(await caller.send(path, { method, headers, body }), status, code);
  });
});

describe('further input', () => {
  test.each([
    ['a rejection', () => requestHead('POST /v1/pets', undefined, LONG)],
    [
      'a body that is too large in chunks',
      () => requestHead('POST /v1/pets', key, JSON_TYPE, 'Transfer-Encoding: chunked'),
    ],
    ['a response to OPTIONS', () => requestHead('OPTIONS /v1/pets', key, LONG)],
    ['a response to GET', () => requestHead('GET /v1/pets', key, LONG)],
    ['a response outside of /v1', () => requestHead('GET /openapi.json', undefined, LONG)],
    ['a request to upgrade', () => requestHead('GET /v1/pets', undefined, ...UPGRADE)],
    ['an invalid message', () => requestHead('GET /v1/pets', undefined, 'Bad header')],
  ])('after %s, the service reads a limited part of further input', async (_title, message) => {
    const connection = await RawConnection.open(service, message());
    const chunk = Buffer.from(`10000\r\n${' '.repeat(65_536)}\r\n`);
    const { socket } = connection;
    const closed = once(socket, 'close').catch(() => undefined);
    let sent = 0;
    const pour = (): void => {
      while (!socket.destroyed && sent < GIGABYTE && socket.write(chunk)) sent += chunk.length;
    };
    socket.on('drain', pour);
    pour();
    await closed;
    expect(sent).toBeLessThan(SWALLOWED_BYTES);
  });

  test('a small complete body: the connection serves the next request, except without an API key', async () => {
    const connection = await RawConnection.open(service);
    for (const as of [key, undefined]) {
      const body = 'x'.repeat(100);
      connection.write(
        `${requestHead('POST /v1/pets', as, `Content-Length: ${body.length}`)}${body}`,
      );
      const response = await connection.response();
      expect([response.status, response.headers['connection']]).toEqual([
        as ? 415 : 401,
        as ? 'keep-alive' : 'close',
      ]);
    }
    connection.close();
  });
});

describe('Expect: 100-continue', () => {
  const expecting = [JSON_TYPE, `Content-Length: ${PET.length}`, 'Expect: 100-Continue'];

  test.each([
    ['after the guards', ''],
    ['for a client that does not wait', PET],
  ])('100 and then 201 %s', async (_title, sent) => {
    const message = requestHead('POST /v1/pets', key, ...expecting) + sent;
    const connection = await RawConnection.open(service, message);
    expect((await connection.response()).status).toBe(100);
    if (sent === '') connection.write(PET);
    expect((await connection.response()).status).toBe(201);
    connection.close();
  });

  test('415 instead of 100 for an unsupported media type', async () => {
    const message = requestHead(
      'POST /v1/pets',
      key,
      'Content-Type: text/plain',
      ...expecting.slice(1),
    );
    expectError(await RawConnection.exchange(service, message), 415, 'unsupported_media_type');
  });
});

test('rejections of requests without a body keep the connection', async () => {
  const connection = await RawConnection.open(service);
  const cases: [path: string, as: string | undefined, status: number][] = [
    ['/v1/pets', undefined, 401],
    ['/v1/pets', spentKey, 429],
    ['/v1/nope', key, 404],
    ['/v1/pets/1x', key, 404],
    ['/v1/pets?limit=0', key, 400],
    ['/v1/pets', key, 200],
  ];
  for (const [path, as, status] of cases) {
    const response = await connection.write(requestHead(`GET ${path}`, as)).response();
    expect([response.status, response.headers['connection']]).toEqual([status, 'keep-alive']);
  }
  connection.close();
});
