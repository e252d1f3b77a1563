import { CreateCategories1795392000000 } from '../../../examples/categories/migrations/1795392000000-create-categories.js';
import { SCHEMA, useDatabase } from '../../harness/database/database.js';
import { createOwner } from '../../harness/database/factories.js';
import { expectDeclaredSchema } from '../../harness/database/schema.js';
import { exampleOf, migrateExample } from '../../harness/features/examples.js';
import { ApiClient, type ApiResponse } from '../../harness/http/client.js';
import { expectError, expectRateLimitHeaders } from '../../harness/http/error-response.js';
import { startService, type TestService } from '../../harness/service/service.js';

const PATH = '/v1/categories';
const migration = new CreateCategories1795392000000();

const example = exampleOf('categories');
const database = useDatabase(SCHEMA);
let service: TestService;
let client: ApiClient;

beforeAll(async () => {
  await migrateExample(migration, database);
  service = await startService({
    database,
    features: example.modules,
    env: { DATABASE_LOCK_TIMEOUT_SECONDS: '0.1' },
  });
  client = new ApiClient(service, (await createOwner(database)).key);
}, 120_000);
beforeEach(() => database.query('TRUNCATE categories'));

const add = (category: unknown): Promise<ApiResponse> => client.post(PATH, category);
const change = (id: number, changes: unknown): Promise<ApiResponse> =>
  client.send(`${PATH}/${id}`, {
    method: 'PATCH',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(changes),
  });
const remove = (id: number): Promise<ApiResponse> =>
  client.send(`${PATH}/${id}`, { method: 'DELETE' });

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

describe('PUT /v1/categories/{categoryId}', () => {
  let path: string;
  let etag: string;
  beforeEach(async () => {
    const { json, headers } = await add({ name: 'Cats', description: 'Felis catus.' });
    path = `${PATH}/${json.id}`;
    etag = headers.etag!;
  });
  const put = (ifMatch?: string, category: object = { name: 'Dogs' }): Promise<ApiResponse> =>
    client.send(path, {
      method: 'PUT',
      headers: { 'Content-Type': 'application/json', ...(ifMatch && { 'If-Match': ifMatch }) },
      body: JSON.stringify(category),
    });

  it('200 with the ETag of the get, and each change has another one', async () => {
    const read = await client.get(path);
    expect(read.headers.etag).toBe(etag);
    expect(await client.get(path, { 'If-None-Match': etag })).toMatchObject({ status: 304 });
    const replaced = await put(etag);
    expect(replaced).toMatchObject({ status: 200, json: { name: 'Dogs', description: null } });
    const changed = await change(read.json.id, { name: 'Birds' });
    const current = await client.get(path, { 'If-None-Match': etag });
    expect(current).toMatchObject({ status: 200, text: changed.text });
    const etags = [etag, replaced.headers.etag, changed.headers.etag];
    expect(new Set(etags).size).toBe(3);
    expect(current.headers.etag).toBe(changed.headers.etag);
  });

  it.each(['*', '"99", TAG'])('200 when If-Match is %s', async (form) => {
    expect(await put(form.replace('TAG', etag))).toMatchObject({ status: 200 });
  });

  it.each(['"99"', 'W/TAG', '""', 'TAG"', '"99999999999"'])(
    '412 and no change when If-Match is %s',
    async (form) => {
      expectError(await put(form.replace('TAG', etag)), 412, 'precondition_failed');
      expect((await client.get(path)).json.name).toBe('Cats');
    },
  );

  it('412 for all but one of the callers that got the same ETag', async () => {
    const responses = await Promise.all(Array.from({ length: 5 }, () => put(etag)));
    const statuses = responses.map(({ status }) => status).sort((a, b) => a - b);
    expect(statuses).toEqual([200, 412, 412, 412, 412]);
  });

  it('428 without If-Match, 400 for the body before, 404 when it is deleted, 409', async () => {
    expectError(await put(), 428, 'precondition_required');
    expectError(await put(undefined, {}), 400, 'invalid_request');
    await add({ name: 'dogs' });
    expectError(await put(etag), 409, 'conflict');
    await client.send(path, { method: 'DELETE' });
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
  expectDeclaredSchema(database, example.folder));
