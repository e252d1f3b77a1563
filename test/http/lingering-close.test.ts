import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { expectError } from '../harness/http/error-response.js';
import { createOwner } from '../harness/database/factories.js';
import { RawConnection } from '../harness/http/raw-connection.js';
import { startService, type TestService } from '../harness/service/service.js';
import type { ErrorCode } from '../../src/platform/errors/catalogue.js';

/** The most that the service reads of a rejected body. More than the buffers of the sockets hold. */
const SWALLOWED_BYTES = 30_000_000;
const GIGABYTE = 1_000_000_000;
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
  await RawConnection.exchange(service, head('GET', '/v1/pets', spentKey));
});
afterAll(() => service.close());

function head(method: string, path: string, as: string | undefined, ...headers: string[]): string {
  const authorization = as === undefined ? [] : [`Authorization: Bearer ${as}`];
  return [`${method} ${path} HTTP/1.1`, 'Host: pets', ...authorization, ...headers, '', ''].join(
    '\r\n',
  );
}

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

describe('a rejected body', () => {
  test.each(REJECTED)(
    '%s: %i before the body is sent',
    async (_title, status, code, method, path, as) => {
      const connection = await RawConnection.open(
        service,
        head(method, path, as(), 'Content-Type: application/json', `Content-Length: ${GIGABYTE}`),
      );
      const startedAt = performance.now();
      const response = await connection.response();
      expect(performance.now() - startedAt).toBeLessThan(1_000);
      expectError(response, status, code);
      expect(response.headers['connection']).toBe('close');
      await connection.serverEnd();
      connection.close();
    },
  );

  test.each(REJECTED)(
    '%s: %i instead of 100 Continue',
    async (_title, status, code, method, path, as) => {
      const headers = [
        'Content-Type: application/json',
        `Content-Length: ${GIGABYTE}`,
        'Expect: 100-continue',
      ];
      expectError(
        await RawConnection.exchange(service, head(method, path, as(), ...headers)),
        status,
        code,
      );
    },
  );

  test.each(REJECTED)(
    '%s: a client that keeps sending reads %i',
    async (_title, status, code, method, path, as) => {
      const body = Buffer.alloc(1_000_000, ' ');
      const request = httpRequest({
        port: service.port,
        path,
        method,
        agent: false,
        headers: {
          'Content-Type': 'application/json',
          'Content-Length': body.length,
          ...(as() !== undefined && { Authorization: `Bearer ${as()}` }),
        },
      });
      request.end(body);
      const [response] = (await once(request, 'response')) as [IncomingMessage];
      const text = (await response.toArray()).join('');
      expectError(
        { status: response.statusCode ?? 0, headers: response.headers, text },
        status,
        code,
      );
    },
  );

  test.each([
    ['a rejection', () => head('POST', '/v1/pets', undefined, `Content-Length: ${GIGABYTE}`)],
    [
      'a body that is too large in chunks',
      () =>
        head(
          'POST',
          '/v1/pets',
          key,
          'Content-Type: application/json',
          'Transfer-Encoding: chunked',
        ),
    ],
    [
      'a response to OPTIONS',
      () => head('OPTIONS', '/v1/pets', key, `Content-Length: ${GIGABYTE}`),
    ],
    ['a response to GET', () => head('GET', '/v1/pets', key, `Content-Length: ${GIGABYTE}`)],
    [
      'a response outside of /v1',
      () => head('GET', '/openapi.json', undefined, `Content-Length: ${GIGABYTE}`),
    ],
    ['an invalid message', () => head('GET', '/v1/pets', undefined, 'Bad header')],
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

  test('a small complete body: the connection serves the next request', async () => {
    const connection = await RawConnection.open(service);
    for (const as of [undefined, key]) {
      const body = 'x'.repeat(100);
      connection.write(`${head('POST', '/v1/pets', as, `Content-Length: ${body.length}`)}${body}`);
      const response = await connection.response();
      expect([response.status, response.headers['connection']]).toEqual([
        as ? 415 : 401,
        'keep-alive',
      ]);
    }
    connection.close();
  });
});

describe('Expect: 100-continue', () => {
  const expecting = [
    'Content-Type: application/json',
    `Content-Length: ${PET.length}`,
    'Expect: 100-Continue',
  ];

  test('100 after the guards, then 201', async () => {
    const connection = await RawConnection.open(
      service,
      head('POST', '/v1/pets', key, ...expecting),
    );
    expect((await connection.response()).status).toBe(100);
    expect((await connection.write(PET).response()).status).toBe(201);
    connection.close();
  });

  test('201 for a client that does not wait', async () => {
    const connection = await RawConnection.open(
      service,
      head('POST', '/v1/pets', key, ...expecting) + PET,
    );
    expect((await connection.response()).status).toBe(100);
    expect((await connection.response()).status).toBe(201);
    connection.close();
  });

  test('415 instead of 100 for an unsupported media type', async () => {
    const response = await RawConnection.exchange(
      service,
      head(
        'POST',
        '/v1/pets',
        key,
        'Content-Type: text/plain',
        'Content-Length: 5',
        'Expect: 100-continue',
      ),
    );
    expectError(response, 415, 'unsupported_media_type');
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
    const response = await connection.write(head('GET', path, as)).response();
    expect([response.status, response.headers['connection']]).toEqual([status, 'keep-alive']);
  }
  connection.close();
});
