import { CHALLENGE, expectError, expectRateLimitHeaders } from '../harness/http/error-response.js';
import { useStore } from '../harness/http/store.js';

const store = useStore({ features: 'responses' });
const get = (name: string, headers = {}) => store.api.get(`/v1/values/${name}`, headers);

describe('the value that a handler returns', () => {
  it.each([
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
    const found = await get(name);
    expect(found).toMatchObject({ status: 200, text: json });
    const type = { 'content-type': 'application/json', 'x-content-type-options': 'nosniff' };
    expect(found.headers).toMatchObject({
      ...type,
      'content-length': String(json.length),
      'cache-control': 'private, no-cache',
      vary: 'Authorization',
    });
    expectRateLimitHeaders(found);
    const known = await get(name, { 'If-None-Match': found.headers.etag });
    expect(known).toMatchObject({ status: 304, text: '' });
    const head = await store.api.send(path, { method: 'HEAD' });
    expect(head).toMatchObject({ status: 200, text: '' });
    expect(head.headers['content-length']).toBe(String(json.length));
    const created = await store.api.send(path, { method: 'POST' });
    expect(created).toMatchObject({ status: 201, text: json });
    expect(created.headers).toMatchObject({ ...type, 'cache-control': 'no-store' });
    expect(created.headers).not.toHaveProperty('etag');
  });

  it.each([
    ['GET', 'nothing', 204],
    ['POST', 'nothing', 201],
    ['GET', 'no-content', 204],
  ])('%s /v1/values/%s › %i without a body', async (method, name, status) => {
    const response = await store.api.send(`/v1/values/${name}`, { method });
    expect(response).toMatchObject({ status, text: '' });
    expect(response.headers).toMatchObject({ 'cache-control': 'no-store' });
    expect(response.headers['content-length']).toBe(status === 204 ? undefined : '0');
    for (const header of ['content-type', 'etag']) {
      expect(response.headers).not.toHaveProperty(header);
    }
    expectRateLimitHeaders(response);
  });

  it.each([
    ['csv', 200, 'text/csv; charset=utf-8', 'private, no-cache', 'a,b\n'],
    ['file', 200, 'text/csv', 'private, no-cache', 'a,b\n'],
    ['sent', 200, 'text/html; charset=utf-8', 'private, no-cache', '<script>alert("x")</script>'],
    ['written', 418, 'text/plain', 'no-store', 'short'],
  ])('%s › %i with a media type of its own', async (name, status, type, caching, text) => {
    const response = await get(name);
    expect(response).toMatchObject({ status, text });
    expect(response.headers).toMatchObject({ 'content-type': type, 'cache-control': caching });
    expectRateLimitHeaders(response);
  });
});

test('a deprecated list has a Link to its successor and one to the next page', async () => {
  const { url } = store.service;
  const { headers } = await get('old-list?limit=1');
  expect(String(headers.link).replace(/cursor=[\w-]+/, 'cursor=…')).toBe(
    `<${url}/v1/items>; rel="successor-version", <${url}/v1/values/old-list?limit=1&cursor=…>; rel="next"`,
  );
});

describe('an ETag that a handler sets', () => {
  const ETAG = 'W/"1,2"';
  const send = (kind: string, ifNoneMatch: string, method = 'GET') =>
    store.api.send(`/v1/tagged/${kind}`, { method, headers: { 'If-None-Match': ifNoneMatch } });

  it.each(['json', 'page', 'csv', 'cached', 'file'])(
    '%s › is sent as it is, and decides about 304 by weak comparison',
    async (kind) => {
      for (const other of ['"1"', '"2"', 'W/"1"', '"x,"1,2""', '1,2']) {
        const found = await send(kind, other);
        expect([found.status, found.headers.etag, found.text !== '']).toEqual([200, ETAG, true]);
      }
      for (const known of [ETAG, '"1,2"', '"a,b" , W/"1,2"', '*']) {
        const found = await send(kind, known);
        expect([found.status, found.headers.etag, found.text]).toEqual([304, ETAG, '']);
      }
      expect(await send(kind, ETAG, 'HEAD')).toMatchObject({ status: 304 });
    },
  );

  it('stays on the response to a change, which is not 304', async () => {
    const changed = await send('json', '*', 'PUT');
    expect(changed).toMatchObject({ status: 200, headers: { etag: ETAG }, text: '{"id":1}' });
  });
});

describe('If-Match on a route of a feature', () => {
  const PATH = '/v1/document';
  const JSON_TYPE = { 'Content-Type': 'application/json' };
  const METHODS = ['PUT', 'PATCH', 'DELETE'];
  const send = (method: string, ifMatch: string | string[], path = PATH) =>
    store.api.send(path, {
      method,
      headers: { 'If-Match': ifMatch, ...(method !== 'DELETE' && JSON_TYPE) },
      body: method === 'DELETE' ? undefined : '{}',
    });
  const tagNow = async () => (await store.api.get(PATH)).headers.etag!;
  const withTag = (form: string | string[], tag: string) =>
    Array.isArray(form) ? form.map((value) => value.replace('TAG', tag)) : form.replace('TAG', tag);

  it.each<string | string[]>([
    'TAG',
    '*',
    '"other", TAG',
    'TAG,W/"a"',
    'W/"a,b" ,\t"", , TAG',
    ',TAG',
    '"\u00e9#", TAG',
    ['"other"', 'TAG'],
  ])('%j lists the ETag of the GET: the change is made, once', async (form) => {
    for (const method of METHODS) {
      const tag = await tagNow();
      expect(await send(method, withTag(form, tag))).toMatchObject({ status: 200 });
      expect(await tagNow()).not.toBe(tag);
      if (form !== '*') {
        expectError(await send(method, withTag(form, tag)), 412, 'precondition_failed');
      }
    }
  });

  it.each(['"other"', 'W/TAG', 'W/TAG, "other"', '""', '"*"', '"x,TAG', '"a", W/"TAG'])(
    '412 without a change when it is %s, because a weak tag matches nothing',
    async (form) => {
      const tag = await tagNow();
      const value = form.includes('"TAG') ? form.replace('TAG', tag.slice(1)) : withTag(form, tag);
      const sent = form === '"x,TAG' ? `"x,${tag.slice(1)}` : value;
      for (const method of METHODS)
        expectError(await send(method, sent), 412, 'precondition_failed');
      expect(await tagNow()).toBe(tag);
    },
  );

  it.each([
    '',
    ',',
    'OPAQUE',
    '"OPAQUE',
    'OPAQUE"',
    '*, TAG',
    '**',
    "'a'",
    '"a" TAG',
    'w/"a"',
    '"a b"',
  ])('400 without a change when it is %j', async (form) => {
    const tag = await tagNow();
    const sent = form.replace('TAG', tag).replace('OPAQUE', tag.slice(1, -1));
    for (const method of METHODS) {
      expect(expectError(await send(method, sent), 400, 'invalid_request')).toContain('If-Match');
    }
    expect(await tagNow()).toBe(tag);
  });

  it('is ignored by a route that does not declare it', async () => {
    const tag = await tagNow();
    expect(await send('POST', '"other"')).toMatchObject({ status: 201 });
    expect(await tagNow()).not.toBe(tag);
    expect((await send('PUT', 'W/"1"', `${PATH}/own`)).json).toEqual({ ifMatch: 'W/"1"' });
  });

  it('does not change the response to a read, or of an unknown path, method or caller', async () => {
    expect(await store.api.get(PATH, { 'If-Match': '"other"' })).toMatchObject({ status: 200 });
    expectError(await send('PUT', '"other"', '/v1/nothing'), 404, 'route_not_found');
    expectError(await send('PUT', 'x', '/v1/values/csv'), 405, 'method_not_allowed');
    expect(await send('OPTIONS', '"other"')).toMatchObject({ status: 204 });
    const headers = { 'If-Match': 'x' };
    const anonymous = await store.anonymous.send(PATH, { method: 'POST', headers });
    expectError(anonymous, 401, 'missing_api_key');
  });
});

describe('a list of a feature', () => {
  it.each([
    ['enveloped', '{"data":{"count":1,"rows":[{"id":1}]}}'],
    ['changed', '["row 1"]'],
    ['copied', '[1]'],
  ])('%s › 200 with the Link to the next page, none on the last page', async (name, text) => {
    const found = await store.api.get(`/v1/lists/${name}?limit=1`);
    expect(found).toMatchObject({ status: 200, text });
    const link = `<${store.service.url}/v1/lists/${name}?limit=1&cursor=`;
    expect(found.headers.link).toEqual(expect.stringContaining(link));
    const last = await store.api.get(`/v1/lists/${name}?limit=2`);
    expect(last.headers).not.toHaveProperty('link');
  });

  it('events › each row exactly once, in order of a timestamp and of the id', async () => {
    const ids: number[] = [];
    for (let path: string | undefined = '/v1/lists/events?limit=1'; path !== undefined;) {
      const { status, json, headers } = await store.api.get(path);
      expect(status).toBe(200);
      ids.push(...(json as { id: number }[]).map(({ id }) => id));
      path = /<http:\/\/[^/]*([^>]*)>/.exec(String(headers.link))?.[1];
    }
    expect(ids).toEqual([1, 2, 3, 4, 5, 6]);
  });

  it.each([
    '-210863520000001',
    '8640000000000001',
    'Infinity',
    '-Infinity',
    'NaN',
    '',
    '-0',
    '1e3',
    '0x10',
    ' 1',
    '1.5',
    '2027-01-01T00:00:00.000Z',
    'now',
    '%31',
    '99999999999999999999',
  ])('events › 400 when the timestamp of the cursor is %j', async (timestamp) => {
    const cursor = Buffer.from(`${timestamp},1:`).toString('base64url');
    const response = await store.api.get(`/v1/lists/events?cursor=${cursor}`);
    expectError(response, 400, 'invalid_cursor');
  });

  it.each([
    ['-210863520000000', 6],
    ['8640000000000000', 0],
  ])('events › 200 when the timestamp of the cursor is %s', async (timestamp, count) => {
    const cursor = Buffer.from(`${timestamp},1:`).toString('base64url');
    const { status, json } = await store.api.get(`/v1/lists/events?cursor=${cursor}`);
    expect([status, json]).toEqual([200, Array(count).fill(expect.anything())]);
  });

  it('counted › 200 without a Link, because the response has no page', async () => {
    const { text, headers } = await store.api.get('/v1/lists/counted?limit=1');
    expect(text).toBe('{"count":1}');
    expect(headers).not.toHaveProperty('link');
  });
});
test.each(['frank', '1.0', '9223372036854775808'])(
  'an id that is no int64 › 404 of the feature that says so: %s',
  async (id) => {
    const message = expectError(await store.api.get(`/v1/items/${id}`), 404, 'item_not_found');
    expect(message).toMatch(/ An identifier is a 64-bit integer, such as 42\.$/);
  },
);

describe('an error of a feature', () => {
  it.each(['error', 'rejection', 'text', 'unprintable'])(
    '%s › 500 that reveals nothing, and the cause in the log',
    async (kind) => {
      const response = await store.api.get(`/v1/failing/${kind}`);
      expect(expectError(response, 500, 'internal_error')).not.toContain('secret');
      // What is no result of the handler stays.
      expect(response.headers).toHaveProperty('content-security-policy');
      expect(response.headers).toHaveProperty('cache-control', 'no-store');
      const id = response.headers['x-request-id'];
      const line = await store.service.waitForLog(({ requestId }) => requestId === id);
      expect(line).toMatchObject({ level: 50, code: 'internal_error' });
      if (kind !== 'text') expect(JSON.stringify(line['err'])).toContain('secret of the inside');
    },
  );

  it('a file that is missing › 500, and a type that the route declares gets an Error in JSON', async () => {
    const missing = await get('missing-file');
    expectError(missing, 500, 'internal_error');
    expect(missing.headers).not.toHaveProperty('content-disposition');
    expect(expectError(await get('no-csv'), 409, 'conflict')).toBe('No sales.');
  });

  it('of a deprecated route has the Link to its successor and none to a next page', async () => {
    const response = await get('old-failure');
    expectError(response, 409, 'conflict');
    expect(response.headers).toMatchObject({
      deprecation: '@1795132800',
      sunset: 'Thu, 05 Dec 2030 00:00:00 GMT',
      link: `<${store.service.url}/v1/items>; rel="successor-version"`,
    });
  });

  it('a file that breaks off › the client does not take it for complete, and the log has the cause', async () => {
    const id = 'broken-file';
    const broken = store.api.get('/v1/values/broken-file', { 'X-Request-Id': id });
    await expect(broken).rejects.toThrow('aborted');
    const line = await store.service.waitForLog(({ requestId }) => requestId === id);
    expect(line).toMatchObject({ level: 50, aborted: true, code: 'internal_error' });
  });

  const FAILED = 'The service failed to handle the request.';
  const UNAVAILABLE = 'The service is unavailable at the moment. Try again later.';

  it.each<[status: number, code: string, response: unknown, message: string, headers?: object]>([
    [400, 'invalid_request', ['a is long', 'b is not'], 'a is long; b is not.'],
    [401, 'unauthorized', 'Log in.', 'Log in.', { 'www-authenticate': CHALLENGE }],
    [403, 'forbidden', 'Not yours.', 'Not yours.'],
    [404, 'not_found', { message: 'No such toy.', hint: 'secret' }, 'No such toy.'],
    [409, 'conflict', { hint: 'secret' }, 'Conflict.'],
    [418, 'i_m_a_teapot', 'No coffee.', 'No coffee.'],
    [422, 'unprocessable_entity', 'Not for sale.', 'Not for sale.'],
    [429, 'too_many_requests', 'Slower.', 'Slower.', { 'retry-after': '60' }],
    [499, 'invalid_request', 'Odd.', 'Odd.'],
    [500, 'internal_error', 'secret', FAILED],
    [501, 'not_implemented', 'secret', FAILED],
    [503, 'service_unavailable', 'secret', UNAVAILABLE, { 'retry-after': '2' }],
  ])('HttpException › %i %s of %j', async (status, code, response, message, headers = {}) => {
    const body = encodeURIComponent(
      JSON.stringify(Array.isArray(response) ? { message: response } : response),
    );
    const path = `/v1/failing/exceptions/${status}?response=${body}`;
    const rejected = await store.api.get(path);
    expect(expectError(rejected, status, code)).toBe(message);
    expect(rejected.headers).toMatchObject(headers);
  });

  it('HttpException › 500 for a status that is no error, 400 with the message of a pipe', async () => {
    for (const status of [100, 200, 399, 600]) {
      const path = `/v1/failing/exceptions/${status}?response="x"`;
      expectError(await store.api.get(path), 500, 'internal_error');
    }
    const { json } = await store.api.get('/v1/failing/exceptions/x');
    const message = 'Validation failed (numeric string is expected)';
    expect(json).toEqual({ code: 'invalid_request', message, status: 400 });
  });
});
