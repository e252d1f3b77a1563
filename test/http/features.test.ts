import { STATUS_CODES } from 'node:http';
import { join } from 'node:path';
import * as nest from '@nestjs/common';
import { createOwner } from '../harness/database/factories.js';
import { ApiClient, send } from '../harness/http/client.js';
import { expectError, expectRateLimitHeaders } from '../harness/http/error-response.js';
import { START_MS, startService, type TestService } from '../harness/service/service.js';

const FEATURES = join(__dirname, '../harness/features');

let service: TestService;
let client: ApiClient;

beforeAll(async () => {
  service = await startService({
    env: { DATABASE_POOL_SIZE: '3' },
    features: ['toy-sales', 'returned-values', 'exceptions', 'mapped-types'].map((name) =>
      join(FEATURES, `${name}.mjs`),
    ),
  });
  client = new ApiClient(service, (await createOwner(service.database)).key);
});
afterAll(() => service.close());

describe('a feature', () => {
  test('GET /v1/toys › 200 with the links to the next page and to the successor of a deprecated list, 304 when it is known', async () => {
    const { status, headers } = await send(service, '/v1/toys');
    expect(status).toBe(200);
    expect(headers.link).toBe(
      `<${service.url}/v2/toys>; rel="successor-version", <${service.url}/v1/toys?cursor=2>; rel="next"`,
    );
    const known = { 'If-None-Match': String(headers.etag) };
    expect((await send(service, '/v1/toys', { headers: known })).status).toBe(304);
  });

  test('GET /v1/toys/environment › 200 with the clock and the settings, which it injects', async () => {
    const { json } = await send(service, '/v1/toys/environment');
    expect(json).toEqual({ now: START_MS, poolSize: 3 });
  });

  test('GET /v1/toys/{toy}/sale › 200 and each log line of the feature has the id of its request', async () => {
    const traceId = '0af7651916cd43dd8448eb211c80319c';
    const toys = Array.from({ length: 40 }, (_, index) => index);
    const sales = () => service.logs().filter(({ msg }) => msg === 'sold');
    await Promise.all(
      toys.map(async (toy) => {
        const headers = {
          'X-Request-Id': `sale-${toy}`,
          ...(toy % 2 === 0 && { traceparent: `00-${traceId}-b7ad6b7169203331-01` }),
        };
        expect((await send(service, `/v1/toys/${toy}/sale`, { headers })).status).toBe(200);
      }),
    );
    await service.waitForLog(() => sales().length === toys.length);
    const ids = toys.map((toy) => `sale-${toy}`);
    expect(new Set(sales().map(({ requestId }) => requestId))).toEqual(new Set(ids));
    const lines = service.logs().filter(({ context }) => context === 'ToysService');
    for (const toy of toys) {
      const ofToy = lines.filter((line) => line['toy'] === toy);
      expect(ofToy.map(({ step }) => step)).toEqual(['start', 'statement', 'transaction']);
      for (const line of ofToy) {
        expect(line).toMatchObject({ requestId: `sale-${toy}` });
        expect(line['traceId']).toBe(toy % 2 === 0 ? traceId : undefined);
      }
    }
  });

  test('a method with @Interval() runs again after an error, without the id of a request', async () => {
    const failed = service.waitForLog(({ context }) => context === 'Scheduler');
    expect(await failed).toMatchObject({ level: 50, err: { message: 'no toys' } });
    const runs = () => service.logs().filter(({ msg }) => msg === 'counted');
    const before = runs().length;
    await service.waitForLog(({ msg }) => msg === 'counted' && runs().length > before);
    for (const run of runs()) expect(run).toMatchObject({ pets: 0 });
    for (const run of runs()) expect(run).not.toHaveProperty('requestId');
  });

  test('runJob calls a method at once, and throws its error', async () => {
    const runs = () => service.logs().filter(({ msg }) => msg === 'counted').length;
    const before = runs();
    await expect(service.runJob('ToysService.count')).rejects.toThrow('no toys');
    expect(runs()).toBeGreaterThan(before);
  });
});

describe('DTOs and results of a feature, by class-transformer', () => {
  test.each([
    ['properties are transformed and converted', { name: ' Rope ', petId: 5, box: { width: 1 } }],
    ['every property is optional', {}],
  ])('PATCH /v1/ropes with a PartialType › 200: %s', async (_title, changes) => {
    const { status, json } = await patch(changes);
    expect([status, json]).toEqual([
      200,
      { ...changes, ...('name' in changes && { name: 'Rope' }) },
    ]);
  });

  test('PATCH /v1/ropes › 400 that names the invalid property of a nested DTO', async () => {
    const { status, json } = await patch({ box: { width: '1' } });
    expect([status, json.message]).toEqual([400, expect.stringContaining('box.width')]);
  });

  test('GET /v1/ropes with ClassSerializerInterceptor › 200 without an excluded property', async () => {
    const { status, json } = await client.get('/v1/ropes');
    expect([status, json]).toEqual([200, { name: 'Rope' }]);
  });

  const patch = (changes: object) =>
    client.send('/v1/ropes', {
      method: 'PATCH',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(changes),
    });
});

describe('the value that a handler returns', () => {
  test.each([
    ['typed-text', 'text/html; charset=utf-8', '<script>alert("x")</script>'],
    ['csv', 'text/csv; charset=utf-8', 'a,b\n'],
    ['empty-csv', 'text/csv; charset=utf-8', ''],
  ])(
    '%s with a declared type is sent as it is: GET 200, 304, HEAD 200, POST 201',
    async (name, type, text) => {
      const path = `/v1/values/${name}`;
      const found = await client.get(path);
      expect(found).toMatchObject({ status: 200, text });
      expect(found.headers).toMatchObject({
        'content-type': type,
        etag: expect.any(String) as string,
      });
      const known = await client.get(path, { 'If-None-Match': String(found.headers.etag) });
      expect([known.status, known.text]).toEqual([304, '']);
      const head = await client.send(path, { method: 'HEAD' });
      expect([head.status, head.headers['content-length']]).toEqual([200, String(text.length)]);
      const created = await client.send(path, { method: 'POST' });
      expect(created).toMatchObject({ status: 201, text });
      expect(created.headers['content-type']).toBe(type);
    },
  );

  test('GET of a route that declares another type › 409 in JSON', async () => {
    const response = await client.get('/v1/values/no-csv');
    expect(expectError(response, 409, 'conflict')).toBe('No sales.');
    expect(response.headers['content-type']).toBe('application/json');
  });

  test.each([
    ['text', '"<script>alert(\\"x\\")</script>"'],
    ['empty', '""'],
    ['number', '1.5'],
    ['boolean', 'false'],
    ['bigint', '9007199254740993'],
    ['null', 'null'],
    ['array', '[1,"a"]'],
    ['object', '{"id":9223372036854775807}'],
    ['promise', '"later"'],
    ['observable', '"last"'],
  ])('%s is JSON: GET 200, 304 with its ETag, HEAD 200, POST 201', async (name, json) => {
    const path = `/v1/values/${name}`;
    const found = await client.get(path);
    expect(found).toMatchObject({ status: 200, text: json });
    expect(found.headers).toMatchObject({
      'content-type': 'application/json',
      'content-length': String(json.length),
      'cache-control': 'private, no-cache',
      vary: 'Authorization',
      etag: expect.stringMatching(/^".+"$/) as string,
      'x-content-type-options': 'nosniff',
    });
    expectRateLimitHeaders(found);

    const known = await client.get(path, { 'If-None-Match': String(found.headers.etag) });
    expect(known).toMatchObject({ status: 304, text: '' });
    const head = await client.send(path, { method: 'HEAD' });
    expect(head).toMatchObject({ status: 200, text: '' });
    expect(head.headers['content-length']).toBe(String(json.length));

    const created = await client.send(path, { method: 'POST' });
    expect(created).toMatchObject({ status: 201, text: json });
    expect(created.headers).toMatchObject({ 'content-type': 'application/json' });
    expect(created.headers).toMatchObject({ 'cache-control': 'no-store' });
    expect(created.headers).not.toHaveProperty('etag');
  });

  test.each([
    ['GET', 'nothing', 204],
    ['POST', 'nothing', 201],
    ['GET', 'accepted', 202],
    ['GET', 'no-content', 204],
    ['POST', 'no-content', 204],
    ['GET', 'redirect', 302],
  ])('%s /v1/values/%s › %i without a body has no-store', async (method, path, status) => {
    const { headers, ...response } = await client.send(`/v1/values/${path}`, { method });
    expect(response).toMatchObject({ status, text: '' });
    const common = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' };
    expect(headers).toMatchObject(common);
    expect(headers['content-length']).toBe(status === 204 ? undefined : '0');
    expect(headers.location).toBe(path === 'redirect' ? '/v1/values/text' : undefined);
    expect(headers).not.toHaveProperty('content-type');
    expect(headers).not.toHaveProperty('etag');
    expectRateLimitHeaders({ headers, ...response });
  });

  test.each([
    ['file', 200, 'text/csv', 'private, no-cache', 'a,b\n'],
    ['sent', 200, 'text/html; charset=utf-8', 'no-store', '<script>alert("x")</script>'],
    ['written', 418, 'text/plain', 'no-store', 'short'],
  ])('GET /v1/values/%s › %i with a media type of its own', async (path, status, ...expected) => {
    const [type, caching, text] = expected;
    const response = await client.get(`/v1/values/${path}`);
    expect(response).toMatchObject({ status, text });
    expect(response.headers).toMatchObject({ 'content-type': type, 'cache-control': caching });
    expectRateLimitHeaders(response);
  });

  test.each(['GET', 'HEAD'])(
    '%s /v1/values/missing-file › 500, and the line of the request has the cause',
    async (method) => {
      const id = `missing-file-${method}`;
      const headers = { 'X-Request-Id': id };
      const response = await client.send('/v1/values/missing-file', { method, headers });
      if (method === 'GET') expectError(response, 500, 'internal_error');
      expect(response.status).toBe(500);
      expect(response.headers).not.toHaveProperty('content-disposition');
      expect(await service.waitForLog(({ requestId }) => requestId === id)).toMatchObject({
        code: 'internal_error',
        err: { code: 'ENOENT', message: expect.stringContaining('/nowhere/pets.csv') as string },
      });
    },
  );
});

describe('an exception of NestJS', () => {
  const EXCEPTIONS = nest as unknown as Record<string, new () => nest.HttpException>;
  const FAILED = 'The service failed to handle the request.';

  const CODES: Readonly<Record<string, string>> = {
    BadRequestException: 'invalid_request',
    UnauthorizedException: 'unauthorized',
    ForbiddenException: 'forbidden',
    NotFoundException: 'not_found',
    MethodNotAllowedException: 'method_not_allowed',
    NotAcceptableException: 'not_acceptable',
    RequestTimeoutException: 'request_timeout',
    ConflictException: 'conflict',
    GoneException: 'gone',
    PreconditionFailedException: 'precondition_failed',
    PayloadTooLargeException: 'payload_too_large',
    UnsupportedMediaTypeException: 'unsupported_media_type',
    ImATeapotException: 'i_m_a_teapot',
    MisdirectedException: 'misdirected_request',
    UnprocessableEntityException: 'unprocessable_entity',
    InternalServerErrorException: 'internal_error',
    NotImplementedException: 'not_implemented',
    BadGatewayException: 'bad_gateway',
    ServiceUnavailableException: 'service_unavailable',
    GatewayTimeoutException: 'gateway_timeout',
    HttpVersionNotSupportedException: 'http_version_not_supported',
  };

  /** Headers that the contract requires with a status. */
  const REQUIRED: Readonly<Record<number, Record<string, string>>> = {
    401: { 'www-authenticate': 'Bearer realm="pets"' },
    405: { allow: '' },
    429: { 'retry-after': '60' },
  };

  test('has a code', async () => {
    const { json } = await client.get('/v1/exceptions/exports');
    const names = (json as string[])
      .filter((name) => name.endsWith('Exception'))
      .filter((name) => !['HttpException', 'IntrinsicException'].includes(name));
    expect(Object.keys(CODES).sort()).toEqual(names.sort());
  });

  test.each(Object.entries(CODES))(
    '%s › %s with its message, unless internal',
    async (name, code) => {
      const status = new EXCEPTIONS[name]!().getStatus();
      const isInternal = status >= 500 && status !== 503;
      const unavailable = 'The service is unavailable at the moment. Try again later.';
      for (const [form, message] of [
        ['text', 'No such toy.'],
        ['object', 'No such toy.'],
        ['cause', 'No such toy.'],
        ['texts', 'name is too long; age must be positive.'],
        ['silent', `${STATUS_CODES[status]}.`],
      ]) {
        const response = await client.get(`/v1/exceptions/thrown/${name}/${form}`);
        const sent = isInternal ? FAILED : status === 503 ? unavailable : message;
        expect([form, expectError(response, status, code)]).toEqual([form, sent]);
        expect(response.headers).toMatchObject(REQUIRED[status] ?? {});
        expect(response.headers['retry-after']).toBe(status === 503 ? '2' : undefined);
      }
    },
  );

  test.each([
    [402, 'payment_required'],
    [423, 'locked'],
    [424, 'failed_dependency'],
    [428, 'precondition_required'],
    [429, 'too_many_requests'],
    [451, 'unavailable_for_legal_reasons'],
    [499, 'invalid_request'],
    [507, 'insufficient_storage'],
  ] as const)('HttpException › %i %s', async (status, code) => {
    const response = await client.get(`/v1/exceptions/status/${status}/No%20such%20toy.`);
    expect(expectError(response, status, code)).toEqual(status < 500 ? 'No such toy.' : FAILED);
    expect(response.headers).toMatchObject(REQUIRED[status] ?? {});
  });

  test.each([100, 200, 399, 600])(
    'HttpException › 500 for %i, which is no error',
    async (status) => {
      const response = await client.get(`/v1/exceptions/status/${status}/No%20such%20toy.`);
      expect(expectError(response, 500, 'internal_error')).toBe(FAILED);
    },
  );

  test('keeps the header of its status that the handler has set', async () => {
    const { status, headers } = await client.get('/v1/exceptions/challenge');
    expect([status, headers['www-authenticate']]).toEqual([401, 'Basic realm="toys"']);
  });

  test('of a pipe or a guard of NestJS › 400 or 403 with its message', async () => {
    const parsed = await client.get('/v1/exceptions/pipes/ParseIntPipe');
    const message = 'Validation failed (numeric string is expected)';
    expect(parsed.json).toEqual({ code: 'invalid_request', message, status: 400 });
    const { json } = await client.get('/v1/closed');
    expect(json).toEqual({ code: 'forbidden', message: 'Forbidden resource', status: 403 });
  });
});
