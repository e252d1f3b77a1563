import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { load } from 'js-yaml';
import { PET_NOT_FOUND } from '../../src/pets/pets.errors.js';
import { SERVICE_CODES } from '../../src/platform/errors/catalogue.js';
import { ApiClient, type RequestOptions, send, type ApiResponse } from '../harness/http/client.js';
import { unknownKey } from '../harness/database/api-keys.js';
import { holdTable } from '../harness/database/database-lock.js';
import { createKey, createOwner } from '../harness/database/factories.js';

import { Description, type MediaType, type ParameterObject } from '../harness/http/description.js';
import { asResponse } from '../harness/fuzz/target.js';
import type { Schema } from '../harness/http/json-schema.js';
import { useStore } from '../harness/http/store.js';
import { RawConnection } from '../harness/http/raw-connection.js';
import { startService, type TestService } from '../harness/service/service.js';
import { createPets } from './animal.js';

/** The codes of the contract. */
const PUBLISHED_CODES = [...SERVICE_CODES, PET_NOT_FOUND.code];

const SUNSET_MS = Date.parse('2030-12-05T00:00:00Z');

describe('the OpenAPI description', () => {
  const env = { DATABASE_LOCK_TIMEOUT_SECONDS: '0.5', HEADERS_TIMEOUT_SECONDS: '2' };
  const store = useStore({ app: true, env });
  let service: TestService;
  let description: Description;

  beforeAll(async () => {
    ({ service } = store);
    description = await Description.of(service);
  });

  it('is OpenAPI with the three operations under a server that ends in v1, and bearer security', () => {
    const { document } = description;
    expect(document).toMatchObject({
      openapi: expect.stringMatching(/^3\./),
      info: { version: '1.0.0', license: { name: 'MIT' } },
      servers: [{ url: '/v1' }],
    });
    expect(
      [...description.operations()]
        .filter(([, { tags }]) => tags.includes('Pets'))
        .map(([name, { operationId }]) => [name, operationId]),
    ).toEqual([
      ['GET /pets', 'listPets'],
      ['POST /pets', 'createPet'],
      ['GET /pets/{petId}', 'getPet'],
    ]);
    expect(document.security).toHaveLength(1);
    const [scheme = ''] = Object.keys(document.security[0]);
    expect(document.components.securitySchemes[scheme]).toMatchObject({
      type: 'http',
      scheme: 'bearer',
    });
  });

  it('has the title of the contract. Its keys start with aas_, and its realm is pets', async () => {
    expect(description.document.info.title).toBe('Animal Adoption Store Service');
    expect(unknownKey()).toMatch(/^aas_[0-9A-Za-z]{36}$/);
    const { headers } = await send(service, '/v1/pets');
    expect(headers['www-authenticate']).toBe('Bearer realm="pets"');
  });

  it.each([
    ['GET /pets', [200, 304, 400, 401, 408, 417, 429, 431, 500, 503]],
    ['POST /pets', [201, 400, 401, 403, 408, 409, 413, 415, 417, 422, 429, 431, 500, 503]],
    ['GET /pets/{petId}', [200, 304, 400, 401, 404, 408, 410, 417, 429, 431, 500, 503]],
  ])('lists every status of %s', (name, statuses) => {
    const { responses } = description.operation(name);
    expect(Object.keys(responses)).toEqual([...statuses.map(String), 'default']);
  });

  it('lists every error code', () => {
    const { properties, required } = description.document.components.schemas.Error;
    expect(required).toEqual(['code', 'message', 'status']);
    expect(properties.code.enum).toEqual(expect.arrayContaining(PUBLISHED_CODES));
    expect(properties.code.description).toMatch(/add codes: handle an unknown one by its status/);
  });

  it('has the types of the interface, identifiers as int64', () => {
    const int64 = { type: 'integer', format: 'int64' };
    expect(description.document.components.schemas).toMatchObject({
      PetStatus: { type: 'string', enum: ['available', 'pending', 'sold'] },
      NewPet: { required: ['name', 'categoryId'], properties: { categoryId: int64 } },
      Pet: {
        required: ['id', 'name', 'categoryId', 'status'],
        properties: { id: int64, categoryId: int64 },
      },
    });
    const parameters = description.operation('GET /pets').parameters as ParameterObject[];
    expect(parameters.find(({ name }) => name === 'limit')).toMatchObject({
      required: false,
      schema: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
    });
  });

  it('begins with a text that fits the screen of a phone', () => {
    expect(description.document.info.description.length).toBeLessThan(1_200);
  });

  it('declares the tags of its operations, and a contact', () => {
    expect(description.document).toMatchObject({
      tags: expect.arrayContaining([{ name: 'Pets' }]),
      info: { contact: { name: 'Operator of the Animal Adoption Store Service' } },
    });
  });

  it('deprecates getPet, with its removal date and its replacement', () => {
    const operation = description.operation('GET /pets/{petId}');
    expect(operation).toMatchObject({ deprecated: true, 'x-sunset': '2030-12-05T00:00:00.000Z' });
    expect(operation.description).toMatch(/5 December 2030.*`GET \/pets`/);
    expect(description.operation('GET /pets').deprecated).toBeUndefined();
  });

  it('has no dangling reference', () => {
    const text = JSON.stringify(description.document);
    for (const [, ref = ''] of text.matchAll(/"\$ref":"([^"]+)"/g)) {
      expect([ref, description.resolve(ref)]).toEqual([ref, expect.anything()]);
    }
  });

  it('has valid examples of the fields, the headers and every error', () => {
    const { schemas, headers } = description.document.components;
    const examples: [unknown, Schema][] = [];
    for (const { properties } of [schemas.Pet, schemas.NewPet]) {
      for (const name of ['id', 'name', 'categoryId', 'status'].filter(
        (each) => each in properties,
      )) {
        examples.push([properties[name].example, properties[name]]);
      }
    }
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

  it('equals openapi.yaml (to update it: npm run openapi)', async () => {
    const committed = await readFile(join(__dirname, '../../openapi.yaml'), 'utf8');
    const { headers, text } = await send(service, '/openapi.yaml');
    expect(headers['content-type']).toBe('application/yaml');
    expect(load(text)).toEqual(description.document);
    expect(text).toBe(committed.replace('- url: http://127.0.0.1:3000/v1', '- url: /v1'));
  });

  describe('and the real responses', () => {
    let client: ApiClient;
    let readOnly: ApiClient;
    let pet: string;

    const FRANK = { name: 'Frank', categoryId: 1 };
    const MINKA = { name: 'Minka', categoryId: 2 };
    const OPERATIONS = {
      'GET /pets': (caller: ApiClient) => caller.get('/v1/pets'),
      'POST /pets': (caller: ApiClient) => caller.post('/v1/pets', FRANK),
      'GET /pets/{petId}': (caller: ApiClient) => caller.get(pet),
    };

    beforeAll(async () => {
      client = store.api;
      const { key } = await createKey(service.database, store.owner.id, { access: 'read' });
      readOnly = new ApiClient(service, key);
      pet = `/v1/pets/${(await createPets(service.database, 3))[0]}`;
    });

    const post = (body: unknown, headers = {}) => client.post('/v1/pets', body, headers);
    const unchanged = async (path: string): Promise<ApiResponse> => {
      const { headers } = await client.get(path);
      return client.get(path, { 'If-None-Match': headers.etag ?? '' });
    };

    const unchangedPost = async (): Promise<ApiResponse> => {
      await post(FRANK, { 'Idempotency-Key': 'described' });
      return post(FRANK, { 'Idempotency-Key': 'described' });
    };

    it.each<[operation: string, status: number, title: string, () => Promise<ApiResponse>]>([
      ['GET /pets', 200, 'a page with a next one', () => client.get('/v1/pets?limit=2')],
      ['GET /pets', 200, 'the last page', () => client.get('/v1/pets')],
      ['GET /pets', 304, 'a page with a next one', () => unchanged('/v1/pets?limit=2')],
      ['GET /pets', 304, 'the last page', () => unchanged('/v1/pets')],
      ['GET /pets', 400, 'limit', () => client.get('/v1/pets?limit=0')],
      ['GET /pets', 400, 'status', () => client.get('/v1/pets?status=lost')],
      ['GET /pets', 400, 'cursor', () => client.get('/v1/pets?cursor=x')],
      ['POST /pets', 201, 'an animal', () => post(FRANK)],
      ['POST /pets', 201, 'a replay', () => unchangedPost()],
      ['POST /pets', 403, 'a read-only key', () => readOnly.post('/v1/pets', FRANK)],
      ['POST /pets', 413, 'a large body', () => post({ name: 'x'.repeat(110_000) })],
      ['POST /pets', 415, 'text', () => post('{}', { 'Content-Type': 'text/plain' })],
      ['POST /pets', 415, 'compressed', () => post('{}', { 'Content-Encoding': 'deflate' })],
      ['GET /pets/{petId}', 200, 'an animal', () => client.get(pet)],
      ['GET /pets/{petId}', 304, 'an animal', () => unchanged(pet)],
      ['GET /pets/{petId}', 404, 'no animal', () => client.get('/v1/pets/0')],
    ])('%s › %i: %s', async (operation, status, _title, respond) => {
      description.expectAsDescribed(operation, status, await respond());
    });

    it.each<[status: number, code: string, () => Promise<ApiResponse>]>([
      [400, 'invalid_request', () => post({ categoryId: 1, status: 'lost' })],
      [400, 'malformed_json', () => post('{')],
      [422, 'idempotency_key_reused', () => post(MINKA, { 'Idempotency-Key': 'used' })],
      [409, 'idempotency_key_in_progress', whileKeyIsInProgress],
    ])('POST /pets › %i %s', async (status, code, respond) => {
      await post(FRANK, { 'Idempotency-Key': 'used' });
      const response = await respond();
      description.expectAsDescribed('POST /pets', status, response);
      expect(response.json.code).toBe(code);
    });

    /** A replica that waits longer for a lock than the service does holds the key. */
    async function whileKeyIsInProgress(): Promise<ApiResponse> {
      const patient = await startService({ app: true, database: service.database });
      const key = { 'Idempotency-Key': 'held' };
      const lock = await holdTable(service.database, 'idempotency_keys', 'SHARE');
      const first = new ApiClient(patient, store.owner.key).post('/v1/pets', FRANK, key);
      await lock.waitedFor();
      const early = await post(FRANK, key);
      await lock.release();
      expect((await first).status).toBe(201);
      await patient.close();
      return early;
    }

    const rejectedHead = async (head: string): Promise<ApiResponse> =>
      asResponse(await RawConnection.exchange(service, `GET ${pet} ${head}`));
    const queried = async (before: string, after: string, caller: () => Promise<ApiResponse>) => {
      await service.database.query(before);
      try {
        return await caller();
      } finally {
        await service.database.query(after);
      }
    };
    const RENAMED = [
      'ALTER TABLE pets RENAME TO others',
      'ALTER TABLE others RENAME TO pets',
    ] as const;
    const LOCKED = ['BEGIN; LOCK TABLE pets IN ACCESS EXCLUSIVE MODE', 'ROLLBACK'] as const;
    type Respond = (request: (caller: ApiClient) => Promise<ApiResponse>) => Promise<ApiResponse>;

    it.each<[status: number, title: string, Respond]>([
      [401, 'no API key', (request) => request(new ApiClient(service))],
      [401, 'an invalid API key', (request) => request(new ApiClient(service, 'wrong'))],
      [408, 'half a head', () => rejectedHead('HTTP/1.1\r\nHost: x\r\n')],
      [417, 'an unknown expectation', () => client.get('/v1/pets', { Expect: 'more' })],
      [431, 'a large head', () => rejectedHead(`HTTP/1.1\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`)],
      [500, 'a changed table', (request) => queried(...RENAMED, () => request(client))],
      [503, 'a locked table', (request) => queried(...LOCKED, () => request(client))],
    ])('%i of every operation: %s', async (status, _title, respond) => {
      for (const [operation, request] of Object.entries(OPERATIONS)) {
        description.expectAsDescribed(operation, status, await respond(request));
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
      ['DELETE', '/v1/pets', 405],
    ])('%s %s, which is no operation › %d', async (method, path, status) => {
      const response = await client.send(path, { method });
      expect(response.status).toBe(status);
      for (const { responses } of description.operations().values()) {
        const described = description.resolved(responses['default'] ?? { $ref: '' });
        expect(description.differences(response, described)).toEqual([]);
      }
    });

    it('GET /pets/{petId} › 410 from the sunset on', async () => {
      await service.setClock(SUNSET_MS);
      description.expectAsDescribed('GET /pets/{petId}', 410, await client.get(pet));
    });
  });
});

describe('the OpenAPI description of another service', () => {
  const store = useStore({
    app: true,
    nowMs: SUNSET_MS - 1,
    env: {
      PUBLIC_URL: 'https://api.example.org/store/',
      STAGING_URL: 'https://staging.example.org',
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

  it('omits an operation from its sunset on', async () => {
    const before = await store.anonymous.get('/openapi.json');
    expect(before.json.paths).toHaveProperty(['/pets/{petId}']);

    await store.service.setClock(SUNSET_MS);
    const known = { 'If-None-Match': before.headers.etag ?? '' };
    const after = await store.anonymous.get('/openapi.json', known);
    expect(after.status).toBe(200);
    expect(after.json.paths).toHaveProperty(['/pets']);
    expect(after.text).not.toContain('getPet');
    expect((await store.anonymous.get('/openapi.yaml')).text).not.toContain('getPet');
  });
});

describe('the OpenAPI description of the routes of a feature', () => {
  const store = useStore({ app: true, features: 'probes' });
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
    expect(description.operation('POST /pets').responses).not.toHaveProperty('412');
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
