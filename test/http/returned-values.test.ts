import { join } from 'node:path';
import { createOwner } from '../harness/database/factories.js';
import { ApiClient } from '../harness/http/client.js';
import { expectRateLimitHeaders } from '../harness/http/error-response.js';
import { startService, type TestService } from '../harness/service/service.js';

let service: TestService;
let client: ApiClient;

beforeAll(async () => {
  service = await startService({
    features: join(__dirname, '../harness/features/returned-values.mjs'),
  });
  client = new ApiClient(service, (await createOwner(service.database)).key);
});
afterAll(() => service.close());

const JSON_OF: Record<string, string> = {
  text: '"<script>alert(\\"x\\")</script>"',
  'typed-text': '"<script>alert(\\"x\\")</script>"',
  empty: '""',
  number: '1.5',
  boolean: 'false',
  bigint: '9007199254740993',
  null: 'null',
  array: '[1,"a"]',
  object: '{"id":9223372036854775807}',
  promise: '"later"',
  observable: '"last"',
};

describe.each(Object.entries(JSON_OF))('a handler that returns: %s', (path, json) => {
  test('GET › 200 with JSON and an ETag', async () => {
    const response = await client.get(`/v1/values/${path}`);

    expect(response).toMatchObject({ status: 200, text: json });
    expect(response.headers).toMatchObject({
      'content-type': 'application/json',
      'content-length': String(json.length),
      'cache-control': 'private, no-cache',
      vary: 'Authorization',
      etag: expect.stringMatching(/^".+"$/) as string,
      'x-content-type-options': 'nosniff',
    });
    expectRateLimitHeaders(response);
  });

  test('GET › 304 with its ETag', async () => {
    const { etag = '' } = (await client.get(`/v1/values/${path}`)).headers;
    const response = await client.get(`/v1/values/${path}`, { 'If-None-Match': etag });

    expect(response).toMatchObject({ status: 304, text: '' });
  });

  test('HEAD › 200 with the headers of GET', async () => {
    const { status, headers, text } = await client.send(`/v1/values/${path}`, { method: 'HEAD' });

    expect([status, text]).toEqual([200, '']);
    expect(headers).toMatchObject({ 'content-length': String(json.length) });
  });

  test('POST › 201 with JSON, and no-store', async () => {
    const response = await client.send(`/v1/values/${path}`, { method: 'POST' });

    expect(response).toMatchObject({ status: 201, text: json });
    expect(response.headers).toMatchObject({
      'content-type': 'application/json',
      'cache-control': 'no-store',
    });
    expect(response.headers).not.toHaveProperty('etag');
  });
});

describe('a response without a body has no-store', () => {
  test.each([
    ['GET', 'nothing', 204],
    ['POST', 'nothing', 201],
    ['GET', 'accepted', 202],
    ['GET', 'no-content', 204],
    ['POST', 'no-content', 204],
    ['GET', 'redirect', 302],
  ])('%s /v1/values/%s › %i', async (method, path, status) => {
    const response = await client.send(`/v1/values/${path}`, { method });

    expect(response).toMatchObject({ status, text: '' });
    expect(response.headers).toMatchObject({
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    });
    expect(response.headers['content-length']).toBe(status === 204 ? undefined : '0');
    expect(response.headers).not.toHaveProperty('content-type');
    expect(response.headers).not.toHaveProperty('etag');
    expectRateLimitHeaders(response);
  });

  test('GET /v1/values/redirect › 302 with the Location', async () => {
    const { headers } = await client.get('/v1/values/redirect', { Accept: 'text/html' });

    expect(headers).toMatchObject({ location: '/v1/values/text' });
  });
});

describe('a handler that chooses the media type', () => {
  test.each([
    ['file', 200, 'text/csv', 'private, no-cache', 'a,b\n'],
    ['sent', 200, 'text/html; charset=utf-8', 'no-store', '<script>alert("x")</script>'],
    ['written', 418, 'text/plain', 'no-store', 'short'],
  ])(
    'GET /v1/values/%s › %i has the headers of every response',
    async (path, status, type, caching, text) => {
      const response = await client.get(`/v1/values/${path}`);

      expect(response).toMatchObject({ status, text });
      expect(response.headers).toMatchObject({
        'content-type': type,
        'cache-control': caching,
        'x-content-type-options': 'nosniff',
        'x-request-id': expect.any(String) as string,
      });
      expectRateLimitHeaders(response);
    },
  );
});
