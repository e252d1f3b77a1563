import type { ApiResponse } from '../harness/http/client.js';
import { anyPost, anyRequest, validPet } from '../harness/fuzz/arbitraries.js';
import { holds } from '../harness/fuzz/property.js';
import { isPublic, Target } from '../harness/fuzz/target.js';

let target: Target;

beforeAll(async () => {
  target = await Target.start();
});
afterAll(() => target.close());

const post = (body: string, key: string): Promise<ApiResponse> =>
  target.authorized({
    method: 'POST',
    target: '/v1/items',
    headers: [
      ['Content-Type', 'application/json'],
      ['Idempotency-Key', key],
    ],
    body: Buffer.from(body),
  });

/** Expects a get to return the same item as the 201 response. */
async function expectReadBack(created: ApiResponse): Promise<void> {
  const { id } = /^\{"id":(?<id>\d+),/.exec(created.text)?.groups ?? {};
  const found = await target.authorized({ method: 'GET', target: `/v1/items/${id}`, headers: [] });
  expect([found.status, found.text]).toEqual([200, created.text]);
}

async function lastId(): Promise<string | null> {
  const [row] = await target.service.database.query<{ id: string | null }>(
    'SELECT max(id) AS id FROM test_items',
  );
  return row?.id ?? null;
}

test('POST /v1/items › 201 with exactly the valid item, which a get and a retry return unchanged', async () => {
  let count = 0;
  await holds(validPet, async ({ body, stored }) => {
    const key = `key-${++count}`;
    const created = await post(body, key);
    const { id } = created.json as { id: number };
    expect([created.status, created.text]).toEqual([201, `{"id":${id},${stored}`]);
    await expectReadBack(created);
    const retried = await post(body, key);
    expect([retried.status, retried.text]).toEqual([201, created.text]);
    expect(retried.headers['idempotent-replayed']).toBe('true');
  });
});

test('POST /v1/items › 201 with an item that a get returns, or a documented error and no new item', async () => {
  await holds(anyPost, async (request) => {
    const before = await lastId();
    const response = await target.authorized(request);
    if (response.status === 201) await expectReadBack(response);
    else expect(await lastId()).toBe(before);
  });
});

test('every response is documented, has an Error body if it fails, and has correct rate limit headers; 401 without an API key', async () => {
  await holds(anyRequest, async (request) => {
    await target.authorized(request);
    const response = await target.send(request);
    if (!isPublic(request)) expect([401, 417]).toContain(response.status);
  });
});
