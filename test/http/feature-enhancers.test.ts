import { DiscoveryModule, NestFactory } from '@nestjs/core';
import { scopeEnhancers } from '../../src/platform/feature-enhancers.js';
import { ApiClient, type ApiResponse } from '../harness/http/client.js';
import { createOwner } from '../harness/database/factories.js';
import { expectError } from '../harness/http/error-response.js';
import { featureFile, useStore } from '../harness/http/store.js';
import { startService } from '../harness/service/service.js';

const store = useStore({ features: 'enhancers' });

const create = (name: string, key: string): Promise<ApiResponse> =>
  store.api.post('/v1/toys', { name }, { 'Idempotency-Key': key });

describe('APP_INTERCEPTOR, APP_GUARD, APP_PIPE and APP_FILTER of a feature', () => {
  test('GET, POST and 404 of /v1/pets › unchanged, also for what AppModule registers', async () => {
    const list = await store.api.get('/v1/pets', { 'X-Stop': 'yes' });
    expect([list.status, list.json]).toEqual([200, []]);
    const headers = { 'Idempotency-Key': 'pet' };
    const pet = { name: 'Frank', categoryId: 1 };
    const created = await store.api.post('/v1/pets', pet, headers);
    expect(created).toMatchObject({ status: 201, json: pet });
    const retry = await store.api.post('/v1/pets', pet, headers);
    expect([retry.status, retry.text]).toEqual([201, created.text]);
    for (const response of [list, created, retry]) {
      expect(response.headers).not.toHaveProperty('x-every-feature');
    }
    expectError(await store.api.get('/v1/pets/0'), 404, 'pet_not_found');
    expectError(await store.api.get('/v1/nope'), 404, 'route_not_found');
    expectError(await store.anonymous.get('/v1/pets'), 401, 'missing_api_key');
  });

  test('GET /v1/toys › 200 with the changed items of a page, and its Link', async () => {
    const { status, json, headers } = await store.api.get('/v1/toys');
    expect([status, json]).toEqual([200, { data: [{ name: 'Rope', run: 0 }] }]);
    expect(headers['link']).toContain('/v1/toys?cursor=2>; rel="next"');
  });

  test('GET /v1/nested › 200, changed, because the feature imports the module', async () => {
    expect((await store.api.get('/v1/nested')).json).toEqual({ data: { name: 'Rope', run: 0 } });
  });

  test('GET /v1/plain › 200, unchanged, because it is another feature', async () => {
    const { json, headers } = await store.api.get('/v1/plain', { 'X-Stop': 'yes' });
    expect(json).toEqual({ price: 5, name: 'Rope', run: 0 });
    expect(headers).toMatchObject({ 'x-every-feature': 'yes' });
    expectError(await store.anonymous.get('/v1/plain'), 401, 'missing_api_key');
  });

  test('403, 401, 409 and 400 of the routes of the feature › what its filter sends', async () => {
    const responses = [
      await store.api.get('/v1/toys', { 'X-Stop': 'yes' }),
      await store.anonymous.get('/v1/toys'),
      await store.api.get('/v1/toys/fail'),
      await store.api.post('/v1/toys', { name: 5 }),
    ];
    const statuses = [403, 401, 409, 400];
    expect(responses.map(({ status }) => status)).toEqual(statuses);
    expect(responses.map(({ json }) => json as unknown)).toEqual(
      statuses.map((caught) => ({ caught })),
    );
    for (const { headers } of responses) expect(headers).toHaveProperty('ratelimit');
  });

  test('POST /v1/toys › 400 for other members than those of the DTO, with forbidNonWhitelisted', async () => {
    const post = async (toy: object) => (await store.api.post('/v1/toys', toy)).status;
    expect(await post({ name: 'Ball', box: { colour: 'red' } })).toBe(201);
    expect(await post({ name: 'Ball', price: 5 })).toBe(400);
    expect(await post({ name: 'Ball', box: { colour: 'red', price: 5 } })).toBe(400);
    const pet = { name: 'Frank', categoryId: 1, price: 5 };
    expect((await store.api.post('/v1/pets', pet)).status).toBe(201);
  });

  test('POST /v1/toys › 201 with an Idempotency-Key, and a retry gets the changed body', async () => {
    const first = await create('Ball', 'a');
    expect(first).toMatchObject({ status: 201, json: { data: { name: 'Ball' } } });
    expect(first.text).not.toContain('price');
    const retry = await create('Ball', 'a');
    expect([retry.status, retry.text]).toEqual([201, first.text]);
    expect(retry.headers).toMatchObject({ 'idempotent-replayed': 'true' });
  });

  test('POST /v1/toys › an error of an interceptor rolls the work back, and nothing is stored', async () => {
    expect((await create('forbidden', 'b')).status).toBe(403);
    expect(await create('Ball', 'b')).toMatchObject({ status: 201, json: { data: {} } });
  });

  test('POST /v1/toys › 201 without a key', async () => {
    const { status, json } = await store.api.post('/v1/toys', { name: 'Ball' });
    expect([status, json]).toEqual([
      201,
      { data: { name: 'Ball', run: expect.any(Number) as number } },
    ]);
  });

  test('GET /v1/filtered › 403 as an Error from a filter that extends BaseExceptionFilter', async () => {
    const response = await store.api.get('/v1/filtered');
    expectError(response, 403, 'forbidden');
    expect(response.json.message).toBe('Not today.');
  });

  test('a second application in the process does not run an interceptor twice', async () => {
    const second = await startService({
      database: store.database,
      features: featureFile('enhancers'),
    });
    try {
      const { key } = await createOwner(store.database);
      const { json } = await new ApiClient(second, key).get('/v1/toys');
      expect(json).toEqual({ data: [{ name: 'Rope', run: 0 }] });
    } finally {
      await second.close();
    }
  });

  test('app.useGlobalPipes() throws', async () => {
    const app = await NestFactory.create(DiscoveryModule, { logger: false, abortOnError: false });
    scopeEnhancers(app, [DiscoveryModule]);
    const message = 'useGlobalPipes() has no effect. Provide APP_PIPE in AppModule.';
    expect(() => app.useGlobalPipes()).toThrow(message);
    await app.close();
  });

  test('the start fails for one with the scope of a request', async () => {
    const start = startService({ features: featureFile('request-scoped') });
    await expect(start).rejects.toThrow(
      'RequestScopedModule: APP_INTERCEPTOR is request-scoped, which would slow down every route. Use @UseInterceptors() on a controller instead.',
    );
  });
});
