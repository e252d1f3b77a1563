import { SERVICE_CODES } from '../../../../src/platform/errors/catalogue.js';
import { ApiClient, type RequestOptions, type ApiResponse } from '../../../harness/http/client.js';
import { holdTable } from '../../../harness/database/database-lock.js';
import { createItems, createKey, createOwner } from '../../../harness/database/factories.js';

import { Description, type MediaType } from '../../../harness/http/description.js';
import { asResponse } from '../../../harness/fuzz/target.js';
import type { Schema } from '../../../harness/http/json-schema.js';
import { useStore } from '../../../harness/http/store.js';
import { RawConnection } from '../../../harness/http/raw-connection.js';
import { startService, type TestService } from '../../../harness/service/service.js';

const PUBLISHED_CODES = [...SERVICE_CODES, 'item_not_found'];

const SUNSET_MS = Date.parse('2030-12-05T00:00:00Z');

describe('the OpenAPI description', () => {
  const env = { DATABASE_LOCK_TIMEOUT_SECONDS: '0.5', HEADERS_TIMEOUT_SECONDS: '2' };
  const store = useStore({ env });
  let service: TestService;
  let description: Description;

  beforeAll(async () => {
    ({ service } = store);
    description = await Description.of(service);
  });

  it('lists every error code', () => {
    const { properties, required } = description.document.components.schemas.Error;
    expect(required).toEqual(['code', 'message', 'status']);
    expect(properties.code.enum).toEqual(expect.arrayContaining(PUBLISHED_CODES));
    expect(properties.code.description).toMatch(/add codes: handle an unknown one by its status/);
  });

  it('has the removal date of a deprecated operation', () => {
    const operation = description.operation('GET /items/{itemId}');
    expect(operation).toMatchObject({ deprecated: true, 'x-sunset': '2030-12-05T00:00:00.000Z' });
    expect(description.operation('GET /items').deprecated).toBeUndefined();
  });

  it('has no dangling reference', () => {
    const text = JSON.stringify(description.document);
    for (const [, ref = ''] of text.matchAll(/"\$ref":"([^"]+)"/g)) {
      expect([ref, description.resolve(ref)]).toEqual([ref, expect.anything()]);
    }
  });

  it('has valid examples of the headers and every error', () => {
    const { headers } = description.document.components;
    const examples: [unknown, Schema][] = [];
    for (const { example, schema } of Object.values<MediaType>(headers)) {
      examples.push([example, schema]);
    }
    const codes = new Set<string>();
    for (const { responses } of description.operations().values()) {
      for (const response of Object.values(responses)) {
        const media = description.resolved(response).content?.['application/json'];
        for (const [code, { value }] of Object.entries(media?.examples ?? {})) {
          codes.add(code);
          examples.push([value, media?.schema ?? {}]);
        }
      }
    }
    expect(examples.flatMap(([value, schema]) => description.violations(value, schema))).toEqual(
      [],
    );
    expect([...codes]).toEqual(expect.arrayContaining(PUBLISHED_CODES));
  });

  describe('and the real responses', () => {
    let client: ApiClient;
    let readOnly: ApiClient;
    let item: string;

    const FRANK = { name: 'Frank', categoryId: 1 };
    const MINKA = { name: 'Minka', categoryId: 2 };
    const OPERATIONS = {
      'GET /items': (caller: ApiClient) => caller.get('/v1/items'),
      'POST /items': (caller: ApiClient) => caller.post('/v1/items', FRANK),
      'GET /items/{itemId}': (caller: ApiClient) => caller.get(item),
    };

    beforeAll(async () => {
      client = store.api;
      const { key } = await createKey(service.database, store.owner.id, { access: 'read' });
      readOnly = new ApiClient(service, key);
      item = `/v1/items/${(await createItems(service.database, 3))[0]}`;
    });

    const post = (body: unknown, headers = {}) => client.post('/v1/items', body, headers);
    const unchanged = async (path: string): Promise<ApiResponse> => {
      const { headers } = await client.get(path);
      return client.get(path, { 'If-None-Match': headers.etag ?? '' });
    };

    const unchangedPost = async (): Promise<ApiResponse> => {
      await post(FRANK, { 'Idempotency-Key': 'described' });
      return post(FRANK, { 'Idempotency-Key': 'described' });
    };

    it.each<[operation: string, status: number, title: string, () => Promise<ApiResponse>]>([
      ['GET /items', 200, 'a page with a next one', () => client.get('/v1/items?limit=2')],
      ['GET /items', 200, 'the last page', () => client.get('/v1/items')],
      ['GET /items', 304, 'a page with a next one', () => unchanged('/v1/items?limit=2')],
      ['GET /items', 304, 'the last page', () => unchanged('/v1/items')],
      ['GET /items', 400, 'limit', () => client.get('/v1/items?limit=0')],
      ['GET /items', 400, 'status', () => client.get('/v1/items?status=lost')],
      ['GET /items', 400, 'cursor', () => client.get('/v1/items?cursor=x')],
      ['POST /items', 201, 'an item', () => post(FRANK)],
      ['POST /items', 201, 'a replay', () => unchangedPost()],
      ['POST /items', 403, 'a read-only key', () => readOnly.post('/v1/items', FRANK)],
      ['POST /items', 413, 'a large body', () => post({ name: 'x'.repeat(110_000) })],
      ['POST /items', 415, 'text', () => post('{}', { 'Content-Type': 'text/plain' })],
      ['POST /items', 415, 'compressed', () => post('{}', { 'Content-Encoding': 'deflate' })],
      ['GET /items/{itemId}', 200, 'an item', () => client.get(item)],
      ['GET /items/{itemId}', 304, 'an item', () => unchanged(item)],
      ['GET /items/{itemId}', 404, 'no item', () => client.get('/v1/items/0')],
    ])('%s › %i: %s', async (operation, status, _title, respond) => {
      description.expectAsDescribed(operation, status, await respond());
    });

    it.each<[status: number, code: string, () => Promise<ApiResponse>]>([
      [400, 'invalid_request', () => post({ categoryId: 1, status: 'lost' })],
      [400, 'malformed_json', () => post('{')],
      [422, 'idempotency_key_reused', () => post(MINKA, { 'Idempotency-Key': 'used' })],
      [409, 'idempotency_key_in_progress', whileKeyIsInProgress],
    ])('POST /items › %i %s', async (status, code, respond) => {
      await post(FRANK, { 'Idempotency-Key': 'used' });
      const response = await respond();
      description.expectAsDescribed('POST /items', status, response);
      expect(response.json.code).toBe(code);
    });

    /** A replica that waits longer for a lock than the service does holds the key. */
    async function whileKeyIsInProgress(): Promise<ApiResponse> {
      const patient = await startService({ database: service.database });
      const key = { 'Idempotency-Key': 'held' };
      const lock = await holdTable(service.database, 'idempotency_keys', 'SHARE');
      const first = new ApiClient(patient, store.owner.key).post('/v1/items', FRANK, key);
      await lock.waitedFor();
      const early = await post(FRANK, key);
      await lock.release();
      expect((await first).status).toBe(201);
      await patient.close();
      return early;
    }

    const rejectedHead = async (head: string): Promise<ApiResponse> =>
      asResponse(await RawConnection.exchange(service, `GET ${item} ${head}`));
    /** Returns the responses to all operations. */
    const all = (caller: ApiClient) =>
      Promise.all(Object.values(OPERATIONS).map((request) => request(caller)));
    const queried = async (before: string, after: string) => {
      await service.database.query(before);
      try {
        return await all(client);
      } finally {
        await service.database.query(after);
      }
    };
    const RENAMED = [
      'ALTER TABLE test_items RENAME TO others',
      'ALTER TABLE others RENAME TO test_items',
    ] as const;
    const LOCKED = ['BEGIN; LOCK TABLE test_items IN ACCESS EXCLUSIVE MODE', 'ROLLBACK'] as const;

    it.each<[status: number, title: string, () => Promise<ApiResponse[]>]>([
      [401, 'no API key', () => all(new ApiClient(service))],
      [401, 'an invalid API key', () => all(new ApiClient(service, 'wrong'))],
      [500, 'a changed table', () => queried(...RENAMED)],
      [503, 'a locked table', () => queried(...LOCKED)],
    ])('%i of every operation: %s', async (status, _title, respond) => {
      const responses = await respond();
      for (const [index, operation] of Object.keys(OPERATIONS).entries()) {
        description.expectAsDescribed(operation, status, responses[index]!);
      }
    });

    it.each<[status: number, title: string, () => Promise<ApiResponse>]>([
      [408, 'half a head', () => rejectedHead('HTTP/1.1\r\nHost: x\r\n')],
      [417, 'an unknown expectation', () => client.get('/v1/items', { Expect: 'more' })],
      [431, 'a large head', () => rejectedHead(`HTTP/1.1\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`)],
    ])('%i, which every operation describes: %s', async (status, _title, respond) => {
      const response = await respond();
      for (const operation of Object.keys(OPERATIONS)) {
        description.expectAsDescribed(operation, status, response);
      }
    });

    it.each(Object.entries(OPERATIONS))(
      '%s › 429, over the limit and banned',
      async (name, request) => {
        const limits = { perMinute: 1, perDay: 10 };
        const limited = new ApiClient(
          service,
          (await createOwner(service.database, { limits })).key,
        );
        await request(limited);
        const codes = new Set<string>();
        for (let rejected = 0; rejected < 2; rejected++) {
          const response = await request(limited);
          codes.add(response.json.code);
          description.expectAsDescribed(name, 429, response);
        }
        expect(codes).toContain('api_key_banned');
      },
    );

    it.each([
      ['GET', '/v1/nothing', 404],
      ['DELETE', '/v1/items', 405],
    ])('%s %s, which is no operation › %d', async (method, path, status) => {
      const response = await client.send(path, { method });
      expect(response.status).toBe(status);
      for (const { responses } of description.operations().values()) {
        const described = description.resolved(responses['default'] ?? { $ref: '' });
        expect(description.differences(response, described)).toEqual([]);
      }
    });

    it('GET /items/{itemId} › 410 from the sunset on', async () => {
      await service.setClock(SUNSET_MS);
      description.expectAsDescribed('GET /items/{itemId}', 410, await client.get(item));
    });
  });
});

describe('the OpenAPI description of another service', () => {
  const store = useStore({
    nowMs: SUNSET_MS - 1,
    env: {
      PUBLIC_URL: 'https://api.example.org/store/',
      STAGING_URL: 'https://staging.example.org',
      CLIENT_GUIDE_URL: 'https://git.example.org/store/docs/clients.md?plain=0#retry',
    },
  });

  it('lists the configured base addresses', async () => {
    const { document } = await Description.of(store.service);
    expect(document.servers).toEqual([
      { url: 'https://api.example.org/store/v1', description: 'Production' },
      { url: 'https://staging.example.org/v1', description: 'Staging' },
    ]);
    expect(document.info.contact.url).toBe('https://api.example.org/store');
  });

  it('links to the guide for client developers that the operator names', async () => {
    const { document } = await Description.of(store.service);
    const url = 'https://git.example.org/store/docs/clients.md?plain=0#retry';
    expect(document.externalDocs).toMatchObject({ url });
  });

  it('omits an operation from its sunset on', async () => {
    const before = await store.anonymous.get('/openapi.json');
    expect(before.json.paths).toHaveProperty(['/items/{itemId}']);

    await store.service.setClock(SUNSET_MS);
    const known = { 'If-None-Match': before.headers.etag ?? '' };
    const after = await store.anonymous.get('/openapi.json', known);
    expect(after.status).toBe(200);
    expect(after.json.paths).toHaveProperty(['/items']);
    expect(after.text).not.toContain('/items/{itemId}');
    expect((await store.anonymous.get('/openapi.yaml')).text).not.toContain('/items/{itemId}');
  });
});

describe('the OpenAPI description of the routes of a feature', () => {
  const store = useStore({ features: 'probes' });
  let description: Description;

  beforeAll(async () => {
    description = await Description.of(store.service);
  });

  it('declares its tags', () => {
    expect(description.document.tags).toContainEqual({ name: 'Probes' });
  });

  it('a @Public() route needs no API key, and its responses have rate limit headers', async () => {
    const name = 'GET /probes/shown/{probeId}';
    const { security, responses } = description.operation(name);
    expect([security, responses[401]]).toEqual([[{}], undefined]);
    description.expectAsDescribed(name, 200, await store.anonymous.get('/v1/probes/shown/1'));
    description.expectAsDescribed(name, 500, await store.anonymous.get('/v1/probes/shown/0'));
  });

  it.each<[operation: string, status: number, path: string, options?: RequestOptions]>([
    ['GET /probes/{probeId}', 200, '/v1/probes/1'],
    ['GET /probes/{probeId}', 304, '/v1/probes/1', { headers: { 'If-None-Match': '*' } }],
    ['GET /probes/{probeId}', 404, '/v1/probes/0'],
    ['DELETE /probes/{probeId}', 204, '/v1/probes/1', { method: 'DELETE' }],
    [
      'DELETE /probes/{probeId}',
      412,
      '/v1/probes/1',
      { method: 'DELETE', headers: { 'If-Match': '"other"' } },
    ],
    ['POST /probes', 201, '/v1/probes', { method: 'POST', body: '{"name":"Rope"}' }],
    ['POST /probes', 400, '/v1/probes', { method: 'POST', body: '{' }],
    ['POST /probes', 409, '/v1/probes', { method: 'POST', body: '{"name":"Ball"}' }],
    ['POST /probes/{probeId}/sale', 409, '/v1/probes/1/sale', { method: 'POST' }],
    ['POST /probes/{probeId}/sale', 409, '/v1/probes/2/sale', { method: 'POST' }],
  ])('%s › %i: %s', async (operation, status, path, { headers, ...options } = {}) => {
    const type = options.body === undefined ? {} : { 'Content-Type': 'application/json' };
    const response = await store.api.send(path, { ...options, headers: { ...type, ...headers } });
    description.expectAsDescribed(operation, status, response);
  });

  it('has 403 for a read-only key in every operation that is no GET', async () => {
    const { key } = await createKey(store.database, store.owner.id, { access: 'read' });
    const toy = await new ApiClient(store.service, key).send('/v1/probes/1', { method: 'DELETE' });
    description.expectAsDescribed('DELETE /probes/{probeId}', 403, toy);
    for (const [name, { responses }] of description.operations()) {
      expect([name, '403' in responses]).toEqual([name, !name.startsWith('GET ')]);
    }
  });

  it('has 412 for the operations that support If-Match, and for no other', () => {
    for (const [name, { parameters = [], responses }] of description.operations()) {
      const isSupported = parameters.some(
        (parameter) => 'name' in parameter && parameter.name === 'If-Match',
      );
      expect([name, '412' in responses]).toEqual([name, isSupported]);
    }
    expect(description.operation('POST /items').responses).not.toHaveProperty('412');
    expect(description.operation('DELETE /probes/{probeId}').parameters).toContainEqual(
      expect.objectContaining({ name: 'If-Match', in: 'header', required: false }),
    );
  });

  it('has the codes that a route declares, in addition to those of the service', () => {
    const name = 'POST /probes/{probeId}/sale';
    const { content } = description.response(name, 409);
    const codes = Object.keys(content?.['application/json']?.examples ?? {}).sort();
    expect(codes).toEqual(['conflict', 'idempotency_key_in_progress']);
    expect(description.operation(name).parameters).toContainEqual(
      expect.objectContaining({ name: 'Idempotency-Key', in: 'header' }),
    );
    const { enum: all } = description.document.components.schemas.Error.properties.code;
    expect(all).toEqual(expect.arrayContaining(['not_found', 'conflict', 'precondition_failed']));
    expect(all).not.toContain('SUMMER');
  });
});
