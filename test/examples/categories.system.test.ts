import { CreateCategories1795392000000 } from '../../examples/categories/migrations/1795392000000-create-categories.js';
import { SCHEMA, useDatabase } from '../harness/database/database.js';
import { createOwner } from '../harness/database/factories.js';
import { expectExampleSchema } from '../harness/database/schema.js';
import { exampleOf, migrateExample } from '../harness/features/examples.js';
import { ApiClient, type ApiResponse } from '../harness/http/client.js';
import { expectError, expectRateLimitHeaders } from '../harness/http/error-response.js';
import { startService, type TestService } from '../harness/service/service.js';

const PATH = '/v1/categories';
const migration = new CreateCategories1795392000000();

const example = exampleOf('categories');
const database = useDatabase(SCHEMA);
let service: TestService;
let client: ApiClient;

beforeAll(async () => {
  await migrateExample(migration, database);
  service = await startService({ database, features: example.modules });
  client = new ApiClient(service, (await createOwner(database)).key);
});
beforeEach(() => database.empty('categories'));

const add = (category: unknown): Promise<ApiResponse> => client.post(PATH, category);
const send = (method: string, id: number, body?: object, ifMatch?: string): Promise<ApiResponse> =>
  client.send(`${PATH}/${id}`, {
    method,
    headers: {
      ...(body && { 'Content-Type': 'application/json' }),
      ...(ifMatch && { 'If-Match': ifMatch }),
    },
    body: body && JSON.stringify(body),
  });
const change = (id: number, changes: object): Promise<ApiResponse> => send('PATCH', id, changes);
const remove = (id: number): Promise<ApiResponse> => send('DELETE', id);

test('POST /v1/categories › 201 with the category', async () => {
  const { status, json } = await add({ name: 'Cats', description: 'Felis catus.', id: 9 });
  expect(status).toBe(201);
  expect(json).toEqual({ id: expect.any(Number), name: 'Cats', description: 'Felis catus.' });
  expect((await client.get(`${PATH}/${json.id}`)).json).toEqual(json);
});

describe('PATCH /v1/categories/{categoryId}', () => {
  let id: number;
  beforeEach(async () => {
    ({ id } = (await add({ name: 'Cats', description: 'Felis catus.' })).json);
  });

  it.each([
    [{ name: 'Kittens' }, { name: 'Kittens', description: 'Felis catus.' }],
    [{ name: 'CATS' }, { name: 'CATS', description: 'Felis catus.' }],
    [{ description: 'Young.' }, { name: 'Cats', description: 'Young.' }],
    [{ description: null }, { name: 'Cats', description: null }],
    [{}, { name: 'Cats', description: 'Felis catus.' }],
  ])('200 with only the given properties changed: %j', async (changes, expected) => {
    const { status, json } = await change(id, changes);
    expect(status).toBe(200);
    expect(json).toEqual({ id, ...expected });
    expect((await client.get(`${PATH}/${id}`)).json).toEqual(json);
  });

  it('409 when another category has the name', async () => {
    await add({ name: 'Dogs' });
    expectError(await change(id, { name: 'dogs' }), 409, 'conflict');
  });
});

describe('PUT, PATCH and DELETE /v1/categories/{categoryId}', () => {
  let id: number;
  let etag: string;
  const tagOf = async () => (await client.get(`${PATH}/${id}`)).headers.etag!;
  beforeEach(async () => {
    ({ id } = (await add({ name: 'Cats', description: 'Felis catus.' })).json);
    etag = await tagOf();
  });
  const put = (ifMatch?: string, category: object = { name: 'Dogs' }): Promise<ApiResponse> =>
    send('PUT', id, category, ifMatch);
  const WRITES = [
    ['PUT', { name: 'Dogs' }, 200],
    ['PATCH', { name: 'Dogs' }, 200],
    ['DELETE', undefined, 204],
  ] as const;

  it('200 with the new category, whose ETag is another one', async () => {
    const replaced = await put(etag);
    expect(replaced).toMatchObject({ status: 200, json: { name: 'Dogs', description: null } });
    const current = await client.get(`${PATH}/${id}`, { 'If-None-Match': etag });
    expect(current).toMatchObject({ status: 200, text: replaced.text });
    const changed = await send('PATCH', id, { name: 'Birds' }, current.headers.etag);
    expect(changed.json).toMatchObject({ name: 'Birds', description: null });
    expect(new Set([etag, current.headers.etag, await tagOf()]).size).toBe(3);
  });

  it.each(WRITES)('%s › 412 and no change when the ETag is another one', async (method, body) => {
    for (const ifMatch of ['"99"', `W/${etag}`]) {
      expectError(await send(method, id, body, ifMatch), 412, 'precondition_failed');
    }
    expect(await tagOf()).toBe(etag);
  });

  it.each(WRITES)(
    '%s › 412 after a change by SQL, then done with the new ETag or *',
    async (method, body, status) => {
      await database.query(`UPDATE categories SET description = 'Felis.'`);
      expectError(await send(method, id, body, etag), 412, 'precondition_failed');
      expect(await send(method, id, body, `${etag}, ${await tagOf()}`)).toMatchObject({ status });
      const other = (await add({ name: 'Birds' })).json.id as number;
      expect(await send(method, other, body && { name: 'Fish' }, '*')).toMatchObject({ status });
    },
  );

  it.each(WRITES)(
    '%s › 412 for all but one that have the same ETag',
    async (method, body, status) => {
      const responses = await Promise.all(
        Array.from({ length: 5 }, (_, number) =>
          send(method, id, body && { name: `Dogs ${number}` }, etag),
        ),
      );
      const statuses = responses.map((response) => response.status).sort((a, b) => a - b);
      const failed = method === 'DELETE' ? 404 : 412;
      expect(statuses).toEqual([status, failed, failed, failed, failed]);
    },
  );

  it('PUT › 428 without If-Match, 400 for the body before, 404 when it is deleted, 409', async () => {
    expectError(await put(), 428, 'precondition_required');
    expectError(await put(undefined, {}), 400, 'invalid_request');
    await add({ name: 'dogs' });
    expectError(await put(etag), 409, 'conflict');
    await remove(id);
    expectError(await put(etag), 404, 'not_found');
  });
});

test('DELETE /v1/categories/{categoryId} › 204 without a body, and 404 when repeated', async () => {
  const { id } = (await add({ name: 'Cats' })).json;
  const response = await remove(id);
  expect(response).toMatchObject({ status: 204, text: '' });
  expectRateLimitHeaders(response);
  expectError(await remove(id), 404, 'not_found');
});

test('the schema is, by the migration, what the entity declares', () =>
  expectExampleSchema(database, example.folder));
