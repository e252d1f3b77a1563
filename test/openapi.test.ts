import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { load } from 'js-yaml';
import { PLAN_LIMITS } from '../src/platform/config/plans.js';
import { isGeneric } from '../src/platform/errors/catalogue.js';
import { ApiClient, send, sendRaw, type ApiResponse } from './harness/http/client.js';
import { holdTable } from './harness/database/database-lock.js';
import { createOwner, createPets, type TestOwner } from './harness/database/factories.js';
import { ALL_ERRORS, type AnyCode } from './harness/http/error-response.js';
import { Description, type MediaType, type ParameterObject } from './harness/http/description.js';
import type { Schema } from './harness/http/json-schema.js';
import { startService, type TestService } from './harness/service/service.js';

/** The codes of the contract. */
const PUBLISHED_CODES = Object.keys(ALL_ERRORS).filter((code) => !isGeneric(code));

const inOrderOfStatus = (codes: readonly string[]): string[] =>
  codes.toSorted((a, b) => ALL_ERRORS[a as AnyCode].status - ALL_ERRORS[b as AnyCode].status);

const SUNSET_MS = Date.parse('2030-12-05T00:00:00Z');

/** Prints what `npm run openapi` writes. */
const PRINT_FILE = `Promise.all([import('#dist/platform/openapi-file.js'), import('#dist/pets/pets.module.js')])
  .then(([{ openapiFile }, { PetsModule }]) => openapiFile([PetsModule]))
  .then((text) => process.stdout.write(text))`;

/** Parses the response of `sendRaw`. */
function parsed(raw: string): ApiResponse {
  const [head = '', text = ''] = raw.split('\r\n\r\n');
  const [statusLine = '', ...lines] = head.split('\r\n');
  const headers = lines.map((line) => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const;
  });
  return {
    status: Number(statusLine.split(' ')[1]),
    headers: Object.fromEntries(headers),
    rawHeaders: headers.flat(),
    text,
    json: JSON.parse(text) as unknown,
  };
}

/** Expects every component to be used, as linters of OpenAPI do. */
function expectNoUnusedComponent({ document }: Description): void {
  const text = JSON.stringify(document);
  for (const [kind, components] of Object.entries<object>(document.components)) {
    if (kind === 'securitySchemes') continue;
    for (const name of Object.keys(components)) {
      expect([`${kind} ${name}`, text.includes(`"#/components/${kind}/${name}"`)]).toEqual([
        `${kind} ${name}`,
        true,
      ]);
    }
  }
}

describe('the interface description', () => {
  let service: TestService;
  let description: Description;

  beforeAll(async () => {
    service = await startService({
      onlyPublished: true,
      env: { DATABASE_LOCK_TIMEOUT_SECONDS: '0.1', HEADERS_TIMEOUT_SECONDS: '0.5' },
    });
    description = await Description.of(service);
  });
  afterAll(() => service.close());

  it('is OpenAPI, with title, version and licence', () => {
    expect(description.document).toMatchObject({
      openapi: expect.stringMatching(/^3\./),
      info: { title: 'Animal Adoption Store Service', version: '1.0.0', license: { name: 'MIT' } },
    });
  });

  it('has the three operations and nothing else under a server that ends in v1', () => {
    const operations = [...description.operations()].map(([name, { operationId }]) => [
      name,
      operationId,
    ]);
    expect(operations).toEqual([
      ['GET /pets', 'listPets'],
      ['POST /pets', 'createPet'],
      ['GET /pets/{petId}', 'getPet'],
    ]);
    expect(description.document.servers).toEqual([{ url: '/v1', description: 'This server' }]);
  });

  it('requires a bearer token for every operation', () => {
    const [requirement, ...others] = description.document.security;
    expect(others).toEqual([]);
    const [scheme = ''] = Object.keys(requirement);
    expect(description.document.components.securitySchemes[scheme]).toMatchObject({
      type: 'http',
      scheme: 'bearer',
    });
  });

  it.each([
    ['GET /pets', [200, 304, 400, 401, 408, 417, 429, 431, 500, 503]],
    ['POST /pets', [201, 400, 401, 408, 409, 413, 415, 417, 422, 429, 431, 500, 503]],
    ['GET /pets/{petId}', [200, 304, 401, 404, 408, 410, 417, 429, 431, 500, 503]],
  ])('lists every status of %s', (name, statuses) => {
    const { responses } = description.operation(name);
    expect(Object.keys(responses)).toEqual([...statuses.map(String), 'default']);
  });

  it('describes every operation and its tag', () => {
    const tags = description.document.tags.map(({ name }: { name: string }) => name);
    for (const operation of description.operations().values()) {
      expect(operation).toMatchObject({
        summary: expect.stringMatching(/./),
        description: expect.stringMatching(/./),
      });
      for (const tag of operation.tags) expect(tags).toContain(tag);
    }
  });

  it('passes the rules of spectral:oas and of redocly that it once violated', () => {
    const { info, components } = description.document;
    expect(info.contact).toEqual({ name: expect.stringMatching(/./) });
    expectNoUnusedComponent(description);
    // allOf is for several schemas, or for one with a description of its own.
    expect(JSON.stringify(components)).not.toMatch(/\{"allOf":\[\{[^}]*\}\]\}/);
    expect(JSON.stringify(components)).not.toMatch(
      /"default":[^{}]*"allOf"|"allOf":[^{}]*"default"/,
    );
  });

  it('publishes no internal extension', () => {
    const extensions = JSON.stringify(description.document).match(/"x-[a-z-]+":/g);
    expect(new Set(extensions)).toEqual(new Set(['"x-sunset":']));
  });

  it('lists every error code', () => {
    expect(description.document.components.schemas.Error).toMatchObject({
      properties: { code: { enum: inOrderOfStatus(PUBLISHED_CODES) } },
      required: ['code', 'message', 'status'],
      additionalProperties: false,
    });
    for (const code of PUBLISHED_CODES)
      expect(description.document.info.description).toContain(`\`${code}\``);
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
      Pets: { type: 'array', maxItems: 100, items: { $ref: '#/components/schemas/Pet' } },
    });
    const parameters = description.operation('GET /pets').parameters as ParameterObject[];
    expect(parameters.find(({ name }) => name === 'limit')).toMatchObject({
      required: false,
      schema: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
    });
  });

  it('deprecates getPet, with its removal date and its replacement', () => {
    const operation = description.operation('GET /pets/{petId}');
    expect(operation).toMatchObject({ deprecated: true, 'x-sunset': '2030-12-05T00:00:00.000Z' });
    expect(operation.description).toMatch(/5 December 2030.*GET \/v1\/pets/);
    expect(description.operation('GET /pets').deprecated).toBeUndefined();
  });

  it('lists the limits of the plans', () => {
    const text = (limit?: number) => limit?.toLocaleString('en') ?? 'custom';
    for (const [plan, limits] of Object.entries(PLAN_LIMITS)) {
      const row = `| ${plan} | ${text(limits?.perMinute)} | ${text(limits?.perDay)} |`;
      expect(description.document.info.description.toLowerCase()).toContain(row);
    }
  });

  it('has no dangling reference, and a valid example of everything', () => {
    const { document } = description;
    for (const [, ref = ''] of JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)) {
      expect([ref, description.resolve(ref)]).toEqual([ref, expect.anything()]);
    }
    const examples: [string, unknown, Schema][] = [];
    const addExamples = (
      where: string,
      { example, examples: named = {}, schema }: MediaType,
    ): void => {
      const values = Object.values(named).map(({ value }) => value);
      if (example !== undefined) values.push(example);
      if (values.length === 0) values.push(undefined);
      for (const value of values) examples.push([where, value, schema]);
    };
    for (const [name, schema] of Object.entries<MediaType['schema'] & { example: unknown }>(
      document.components.schemas,
    )) {
      examples.push([name, schema.example, schema]);
    }
    for (const [name, header] of Object.entries<MediaType>(document.components.headers)) {
      addExamples(name, header);
    }
    for (const [name, operation] of description.operations()) {
      for (const parameter of operation.parameters) {
        const { name: parameterName, example, schema } = description.resolved(parameter);
        const whole = description.resolved(schema);
        examples.push([`${name} ${parameterName}`, example ?? whole.example, schema]);
      }
      const contents = [operation.requestBody, ...Object.values(operation.responses)].flatMap(
        (part) => (part ? Object.values(description.resolved(part).content ?? {}) : []),
      );
      for (const media of contents) addExamples(name, media);
    }
    const wrong = examples.flatMap(([where, value, schema]) =>
      value === undefined ? [`${where} has no example`] : description.violations(value, schema),
    );
    expect(wrong).toEqual([]);
    expect(examples.length).toBeGreaterThan(50);
  });

  it('is the same in both formats', async () => {
    const { headers, text } = await send(service, '/openapi.yaml');
    expect(headers['content-type']).toBe('application/yaml');
    expect(load(text)).toEqual(description.document);
  });

  it('equals openapi.yaml (to update it: npm run openapi)', async () => {
    const committed = await readFile(join(__dirname, '../openapi.yaml'), 'utf8');
    const { stdout } = await promisify(execFile)(process.execPath, ['-e', PRINT_FILE]);
    expect(stdout).toBe(committed);
    const { text } = await send(service, '/openapi.yaml');
    expect(text).toBe(committed);
  });

  describe('and its routes', () => {
    let key: string;

    beforeAll(async () => {
      ({ key } = await createOwner(service.database, { plan: 'free' }));
    });

    const DOCS_FILES = [
      'swagger-ui.css',
      'page.css',
      'swagger-ui-bundle.js',
      'favicon-32x32.png',
      'start-swagger-ui.js',
    ].map((name) => `/docs/${name}`);

    it.each(['/openapi.json', '/openapi.yaml', '/docs', ...DOCS_FILES])(
      'GET %s › 200 without an API key and without a rate limit, 304 if unchanged',
      async (path) => {
        const { status, headers, text } = await send(service, path);
        expect(status).toBe(200);
        expect(text).not.toBe('');
        expect(headers).toMatchObject({
          'cache-control': 'no-cache',
          'x-content-type-options': 'nosniff',
          'x-request-id': expect.anything(),
        });
        expect(headers).not.toHaveProperty('x-ratelimit-limit');
        const ifNoneMatch = { 'If-None-Match': headers.etag ?? '' };
        expect(await send(service, path, { headers: ifNoneMatch })).toMatchObject({
          status: 304,
          text: '',
        });
        expect(await send(service, path, { method: 'HEAD' })).toMatchObject({
          status: 200,
          text: '',
        });
      },
    );

    it.each(['/', '/docs/'])('GET %s › 302 to /docs', async (path) => {
      const { status, headers } = await send(service, path);
      expect([status, headers.location, headers['x-content-type-options']]).toEqual([
        302,
        '/docs',
        'nosniff',
      ]);
    });

    it.each([
      '/docs//',
      '/docs/index.html',
      '/docs/swagger-ui.js',
      '/Docs',
      '/openapi.json/',
      '/openapi',
    ])('GET %s › 401 without an API key, 404 with one', async (path) => {
      const { status, json } = await send(service, path);
      expect([status, json.code]).toEqual([401, 'missing_api_key']);
      const known = await new ApiClient(service, key).get(path);
      expect([known.status, known.json.code]).toEqual([404, 'route_not_found']);
    });

    it.each(['/docs', '/openapi.json', '/docs/swagger-ui.css'])(
      'POST %s › 401 without an API key, 405 with one',
      async (path) => {
        expect((await send(service, path, { method: 'POST' })).status).toBe(401);
        const { status, headers } = await new ApiClient(service, key).send(path, {
          method: 'POST',
        });
        expect([status, headers.allow]).toEqual([405, 'GET, HEAD, OPTIONS']);
      },
    );

    it('GET /docs › says where an API key comes from, and contains none', async () => {
      const { text } = await send(service, '/docs');
      expect(text).toContain('<code>pets keys issue</code>');
      expect(text).not.toMatch(/aas_|demo/);
    });

    it('GET /docs › loads nothing from another host, and its policy forbids it', async () => {
      const { headers, text } = await send(service, '/docs');
      expect(headers).toMatchObject({
        'content-type': 'text/html; charset=utf-8',
        'referrer-policy': 'no-referrer',
      });
      const policy = headers['content-security-policy'] ?? '';
      expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self';");
      expect(policy).not.toMatch(/unsafe|\*|https?:/);
      const loaded = [...text.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, url = '']) => url);
      expect(loaded.length).toBeGreaterThan(4);
      for (const url of loaded) expect(url).toMatch(/^(?:docs\/[a-z0-9.-]+|openapi\.yaml)$/);
      for (const path of DOCS_FILES.filter((name) => name.endsWith('.css'))) {
        const style = (await send(service, path)).text;
        for (const [, url = ''] of style.matchAll(/url\(["']?([^"')]{0,20})/g))
          expect(url).toMatch(/^data:/);
        expect(style).not.toContain('@import');
      }
    });
  });

  describe('and the real responses', () => {
    const expectAsDescribed = (operation: string, status: number, response: ApiResponse): void =>
      description.expectAsDescribed(operation, status, response);

    let owner: TestOwner;
    let client: ApiClient;
    let ids: string[];

    beforeAll(async () => {
      owner = await createOwner(service.database);
      client = new ApiClient(service, owner.key);
      ids = await createPets(service.database, 3);
    });

    it('GET /pets › 200 and 304, with and without a next page', async () => {
      for (const path of ['/v1/pets?limit=2', '/v1/pets']) {
        const found = await client.get(path);
        expectAsDescribed('GET /pets', 200, found);
        const unchanged = await client.get(path, { 'If-None-Match': found.headers.etag ?? '' });
        expectAsDescribed('GET /pets', 304, unchanged);
      }
    });

    it.each(['limit=0', 'status=lost', 'cursor=x'])('GET /pets?%s › 400', async (query) => {
      expectAsDescribed('GET /pets', 400, await client.get(`/v1/pets?${query}`));
    });

    it('POST /pets › 201', async () => {
      const created = await client.post('/v1/pets', { name: 'Minka', categoryId: 2 });
      expectAsDescribed('POST /pets', 201, created);
    });

    it('POST /pets with an Idempotency-Key › 201 again, 422 and 409, with the described messages', async () => {
      const key = { 'Idempotency-Key': 'described' };
      const minka = { name: 'Minka', categoryId: 2 };
      await client.post('/v1/pets', minka, key);
      expectAsDescribed('POST /pets', 201, await client.post('/v1/pets', minka, key));

      const reused = await client.post('/v1/pets', { ...minka, categoryId: 3 }, key);
      // A replica that waits longer for a lock than the service does.
      const patient = await startService({ onlyPublished: true, database: service.database });
      const held = { 'Idempotency-Key': 'held' };
      const lock = await holdTable(service.database, 'idempotency_keys', 'SHARE');
      const first = new ApiClient(patient, owner.key).post('/v1/pets', minka, held);
      await lock.waitedFor();
      const early = await client.post('/v1/pets', minka, held);
      await lock.release();
      expect((await first).status).toBe(201);
      await patient.close();
      for (const response of [reused, early]) {
        expectAsDescribed('POST /pets', response.json.status, response);
        const { content } = description.response('POST /pets', response.status);
        expect(content?.['application/json']?.examples?.[response.json.code]?.value).toEqual(
          response.json,
        );
      }
      expect([reused.status, early.status]).toEqual([422, 409]);
    });

    it('POST /pets › 400, with the described message', async () => {
      const examples = description.response('POST /pets', 400).content?.['application/json']
        ?.examples;
      for (const body of [{ categoryId: 1, status: 'lost' }, '{']) {
        const rejected = await client.post('/v1/pets', body);
        expectAsDescribed('POST /pets', 400, rejected);
        expect(examples?.[rejected.json.code]?.value).toEqual(rejected.json);
      }
    });

    it('POST /pets › 413', async () => {
      const large = { name: 'x'.repeat(110_000), categoryId: 1 };
      expectAsDescribed('POST /pets', 413, await client.post('/v1/pets', large));
    });

    it.each([{ 'Content-Type': 'text/plain' }, { 'Content-Encoding': 'deflate' }])(
      'POST /pets, %p › 415',
      async (headers) => {
        expectAsDescribed('POST /pets', 415, await client.post('/v1/pets', '{}', headers));
      },
    );

    it('GET /pets/{petId} › 200, 304 and 404', async () => {
      const found = await client.get(`/v1/pets/${ids[0]}`);
      expectAsDescribed('GET /pets/{petId}', 200, found);
      const unchanged = await client.get(`/v1/pets/${ids[0]}`, {
        'If-None-Match': found.headers.etag ?? '',
      });
      expectAsDescribed('GET /pets/{petId}', 304, unchanged);
      expectAsDescribed('GET /pets/{petId}', 404, await client.get('/v1/pets/0'));
    });

    describe.each([
      ['GET /pets', 'GET', '/v1/pets'],
      ['POST /pets', 'POST', '/v1/pets'],
      ['GET /pets/{petId}', 'GET', '/v1/pets/1'],
    ])('%s', (operation, method, path) => {
      const request = (caller: ApiClient): Promise<ApiResponse> =>
        method === 'POST' ? caller.post(path, { name: 'Frank', categoryId: 1 }) : caller.get(path);

      it('401 without an API key and with an invalid one', async () => {
        for (const key of [undefined, 'wrong']) {
          const rejected = await request(new ApiClient(service, key));
          expectAsDescribed(operation, 401, rejected);
        }
      });

      it('429, over the limit and banned', async () => {
        const limits = { perMinute: 1, perDay: 10 };
        const { key } = await createOwner(service.database, { limits });
        const limited = new ApiClient(service, key);
        await request(limited);
        const codes = new Set<string>();
        for (let rejected = 0; rejected < 2; rejected++) {
          const response = await request(limited);
          codes.add(response.json.code);
          expectAsDescribed(operation, 429, response);
        }
        expect(codes).toContain('api_key_banned');
      });

      it('431', async () => {
        const raw = `${method} ${path} HTTP/1.1\r\nHost: x\r\nX-Filler: ${'x'.repeat(20_000)}\r\n\r\n`;
        expectAsDescribed(operation, 431, parsed(await sendRaw(service, raw)));
      });

      it('500 when the table has changed', async () => {
        await service.database.query('ALTER TABLE pets RENAME TO pets_elsewhere');
        try {
          expectAsDescribed(operation, 500, await request(client));
        } finally {
          await service.database.query('ALTER TABLE pets_elsewhere RENAME TO pets');
        }
      });
    });

    it('503 for every operation', async () => {
      const { database } = service;
      await database.query('BEGIN');
      await database.query('LOCK TABLE pets IN ACCESS EXCLUSIVE MODE');
      try {
        const pet = { name: 'Frank', categoryId: 1 };
        expectAsDescribed('GET /pets', 503, await client.get('/v1/pets'));
        expectAsDescribed('POST /pets', 503, await client.post('/v1/pets', pet));
        expectAsDescribed('GET /pets/{petId}', 503, await client.get('/v1/pets/1'));
      } finally {
        await database.query('ROLLBACK');
      }
    });

    it('408 for every operation', async () => {
      const late = parsed(await sendRaw(service, 'GET /v1/pets HTTP/1.1\r\nHost: x\r\n'));
      for (const operation of description.operations().keys()) {
        expectAsDescribed(operation, 408, late);
      }
    });

    it('417 for every operation', async () => {
      const response = await client.get('/v1/pets', { Expect: 'more' });
      for (const operation of description.operations().keys()) {
        expectAsDescribed(operation, 417, response);
      }
    });

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
      expectAsDescribed('GET /pets/{petId}', 410, await client.get('/v1/pets/1'));
    });
  });
});

describe('the interface description of another service', () => {
  let published: TestService;
  beforeAll(async () => {
    published = await startService({
      onlyPublished: true,
      nowMs: SUNSET_MS - 1,
      env: {
        PUBLIC_URL: 'https://api.example.org/store/',
        STAGING_URL: 'https://staging.example.org',
      },
    });
  });
  afterAll(() => published.close());

  it('lists the configured base addresses', async () => {
    const { document } = await Description.of(published);
    expect(document.servers).toEqual([
      { url: 'https://api.example.org/store/v1', description: 'Production' },
      { url: 'https://staging.example.org/v1', description: 'Staging' },
    ]);
    expect((await send(published, '/')).headers.location).toBe('/store/docs');
    const { headers } = await send(published, '/docs');
    expect(headers['content-security-policy']).toContain(
      "connect-src 'self' https://api.example.org https://staging.example.org;",
    );
  });

  it('omits an operation from its sunset on', async () => {
    const before = await send(published, '/openapi.json');
    expect(Object.keys(before.json.paths)).toEqual(['/pets', '/pets/{petId}']);

    await published.setClock(SUNSET_MS);
    const headers = { 'If-None-Match': before.headers.etag ?? '' };
    const after = await send(published, '/openapi.json', { headers });
    expect(after.status).toBe(200);
    expect(Object.keys(after.json.paths)).toEqual(['/pets']);
    expect(after.text).not.toContain('getPet');
    expect((await send(published, '/openapi.yaml')).text).not.toContain('getPet');
  });
});

describe('the interface description of the routes of a feature', () => {
  let service: TestService;
  let description: Description;
  let client: ApiClient;

  beforeAll(async () => {
    service = await startService({
      onlyPublished: true,
      features: join(__dirname, 'harness/features/toys.mjs'),
    });
    description = await Description.of(service);
    client = new ApiClient(service, (await createOwner(service.database)).key);
  });
  afterAll(() => service.close());

  const statusesOf = (name: string): string[] => Object.keys(description.operation(name).responses);
  const ALWAYS = ['408', '417', '431', '500', '503', 'default'];
  const AUTHENTICATED = ['401', '429', ...ALWAYS];

  it('lists the statuses that each route has', () => {
    const statuses = Object.fromEntries(
      [...description.operations().keys()].map((name) => [name, statusesOf(name)]),
    );
    expect(statuses).toMatchObject({
      'GET /toys/{toyId}': ['200', '304', '404', ...AUTHENTICATED].sort(),
      'DELETE /toys/{toyId}': ['204', ...AUTHENTICATED].sort(),
      'POST /toys/{toyId}/sale': ['201', '409', '422', ...AUTHENTICATED].sort(),
      'GET /toys/shown/{toyId}': ['200', '304', '404', '429', ...ALWAYS].sort(),
    });
  });

  it('GET with @ApiErrors() › 200, 304 and 404', async () => {
    const name = 'GET /toys/{toyId}';
    const found = await client.get('/v1/toys/1');
    description.expectAsDescribed(name, 200, found);
    const headers = { 'If-None-Match': found.headers.etag ?? '' };
    description.expectAsDescribed(name, 304, await client.get('/v1/toys/1', headers));
    description.expectAsDescribed(name, 404, await client.get('/v1/toys/0'));
  });

  it('DELETE that returns nothing › 204', async () => {
    const removed = await client.send('/v1/toys/1', { method: 'DELETE' });
    description.expectAsDescribed('DELETE /toys/{toyId}', 204, removed);
  });

  it('POST with an error decorator of @nestjs/swagger › 201, 400 and 409', async () => {
    const added = await client.post('/v1/toys', { name: 'Rope' });
    description.expectAsDescribed('POST /toys', 201, added);
    description.expectAsDescribed('POST /toys', 400, await client.post('/v1/toys', '{'));
    const conflict = await client.post('/v1/toys', { name: 'Ball' });
    description.expectAsDescribed('POST /toys', 409, conflict);
    const { content } = description.response('POST /toys', 409);
    expect(content?.['application/json']?.examples).toMatchObject({
      conflict: { value: conflict.json },
    });
  });

  it('POST with @IdempotencyKey() and errors of its own › 409 and 422, each with two codes', async () => {
    const name = 'POST /toys/{toyId}/sale';
    for (const [toyId, status] of [
      [1, 409],
      [2, 422],
      [3, 409],
    ] as const) {
      const response = await client.send(`/v1/toys/${toyId}/sale`, { method: 'POST' });
      description.expectAsDescribed(name, status, response);
    }
    const codes = [409, 422].map((status) =>
      Object.keys(
        description.response(name, status).content?.['application/json']?.examples ?? {},
      ).sort(),
    );
    expect(codes).toEqual([
      ['conflict', 'idempotency_key_in_progress'],
      ['idempotency_key_reused', 'unprocessable_entity'],
    ]);
    const parameters = description.operation(name).parameters.map((parameter) => {
      return description.resolved(parameter).name;
    });
    expect(parameters).toContain('Idempotency-Key');
  });

  it('GET of a @Public() route › 200 and 500 without an API key, with rate limit headers', async () => {
    const name = 'GET /toys/shown/{toyId}';
    description.expectAsDescribed(name, 200, await send(service, '/v1/toys/shown/1'));
    description.expectAsDescribed(name, 500, await send(service, '/v1/toys/shown/0'));
    expect(description.operation(name).security).toEqual([]);
  });

  it('lists the generic codes that a route declares', () => {
    const { enum: codes } = description.document.components.schemas.Error.properties.code;
    expect(codes).toEqual(
      inOrderOfStatus([...PUBLISHED_CODES, 'not_found', 'conflict', 'unprocessable_entity']),
    );
    expect(description.document.info.description).toContain('| 404 | `not_found` |');
  });

  it('has no unused component and no dangling reference', () => {
    expectNoUnusedComponent(description);
  });
});
