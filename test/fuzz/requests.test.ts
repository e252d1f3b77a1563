import fc from 'fast-check';
import type { ApiResponse } from '../harness/http/client.js';
import { anyPost, anyRequest, validRequest } from '../harness/fuzz/arbitraries.js';
import { holds } from '../harness/fuzz/property.js';
import { type FuzzRequest, isPublic, Target } from '../harness/fuzz/target.js';

const SUCCESSES = [200, 201, 304, 404];

let target: Target;

beforeAll(async () => {
  target = await Target.start();
});
afterAll(() => target.close());

/** Expects a get to return the same animal as the 201 response. */
async function expectReadBack(created: ApiResponse): Promise<void> {
  const { id } = /^\{"id":(?<id>\d+),/.exec(created.text)?.groups ?? {};
  const found = await target.authorized({ method: 'GET', target: `/v1/pets/${id}`, headers: [] });
  expect([found.status, found.text]).toEqual([200, created.text]);
}

/** Expects the response to contain exactly the sent values. */
function expectStored({ text, json }: ApiResponse, content: Record<string, unknown>): void {
  const [, categoryId] = /"categoryId":(-?\d+)[,}]/.exec(text) ?? [];
  expect({ ...(json as object), categoryId, id: undefined }).toEqual({
    status: 'available',
    ...content,
    categoryId: String(content['categoryId']),
    id: undefined,
  });
}

describe('valid requests by the interface description', () => {
  test('GET /v1/pets › 200', async () => {
    await holds(validRequest(target.description, 'GET /pets'), async ({ request }) => {
      const response = await target.authorized(request);
      expect(response.status).toBe(200);
      const limit = /limit=(\d+)/.exec(request.target)?.[1] ?? '20';
      expect(response.json.length).toBeLessThanOrEqual(Number(limit));
      const tag = ['If-None-Match', String(response.headers.etag)] as const;
      const same = await target.authorized({ ...request, headers: [...request.headers, tag] });
      expect([same.status, same.text]).toEqual([304, '']);
    });
  });

  test('GET /v1/pets/{petId} › 200 or 404', async () => {
    await holds(validRequest(target.description, 'GET /pets/{petId}'), async ({ request }) => {
      const { status } = await target.authorized(request);
      expect([200, 404]).toContain(status);
    });
  });

  test('POST /v1/pets › 201 with an animal that a get returns unchanged; a retry gets the same response', async () => {
    const first = new Map<string, { content: string; text: string }>();
    await holds(validRequest(target.description, 'POST /pets'), async ({ request, content }) => {
      const created = await target.authorized(request);
      const [, header] = request.headers.find(([name]) => name === 'Idempotency-Key') ?? [];
      const key = header && bareKey(header);
      const sent = JSON.stringify({ status: 'available', ...content }, printBigInt);
      const earlier = key === undefined ? undefined : first.get(key);
      if (earlier && earlier.content !== sortedMembers(sent)) {
        expect(created.status).toBe(422);
        return;
      }
      expect(created.status).toBe(201);
      expectStored(created, content ?? {});
      expect(created.headers['idempotent-replayed']).toBe(earlier && 'true');
      if (earlier) expect(created.text).toBe(earlier.text);
      await expectReadBack(created);
      if (key === undefined) return;
      first.set(key, { content: sortedMembers(sent), text: created.text });
      const retried = await target.authorized(request);
      expect([retried.status, retried.text]).toEqual([201, created.text]);
      expect(retried.headers['idempotent-replayed']).toBe('true');
    });
  });
});

/** Removes the quotes: a bare key and a quoted key are the same. */
function bareKey(header: string): string {
  return header.startsWith('"') ? header.slice(1, -1).replace(/\\(.)/g, '$1') : header;
}

function printBigInt(_name: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}

function sortedMembers(json: string): string {
  return JSON.stringify(Object.entries(JSON.parse(json) as object).sort());
}

describe('random requests', () => {
  test('every response is documented, has an Error body if it fails, and has correct rate limit headers', async () => {
    await holds(anyRequest, async (request) => {
      const response = await target.authorized(request);
      if (response.status === 201) await expectReadBack(response);
    });
  });

  test('POST /v1/pets › 201 with an animal that a get returns, or a documented error and no new animal', async () => {
    await holds(anyPost, async (request) => {
      const before = await lastId();
      const response = await target.authorized(request);
      if (response.status === 201) await expectReadBack(response);
      else expect(await lastId()).toBe(before);
    });
  });

  test('401 for every request without an API key', async () => {
    await holds(anyRequest, async (request) => {
      const response = await target.send(request);
      if (!isPublic(request)) expect([401, 417]).toContain(response.status);
    });
  });

  test('requests on one connection are counted one by one', async () => {
    await holds(fc.array(anyRequest, { maxLength: 8 }), async (requests: FuzzRequest[]) => {
      for (const request of requests) await target.authorized(request);
      const { status } = await target.authorized({
        method: 'GET',
        target: '/v1/pets',
        headers: [],
      });
      expect(SUCCESSES).toContain(status);
    });
  });
});

async function lastId(): Promise<string | null> {
  const [row] = await target.service.database.query<{ id: string | null }>(
    'SELECT max(id) AS id FROM pets',
  );
  return row?.id ?? null;
}
