import type { ApiResponse } from '../../../harness/http/client.js';
import { expectError } from '../../../harness/http/error-response.js';
import { useStore } from '../../../harness/http/store.js';

const SUNSET_MS = Date.parse('2030-12-05T00:00:00.000Z');
const store = useStore();

beforeAll(() =>
  store.query(
    `INSERT INTO test_items (id, name, category_id, status)
     OVERRIDING SYSTEM VALUE VALUES (0, 'Zero', 1, 'sold')`,
  ),
);

const get = (itemId: string, method = 'GET', headers = {}): Promise<ApiResponse> =>
  store.api.send(`/v1/items/${itemId}`, { method, headers });

function expectAnnouncement({ headers }: ApiResponse): void {
  expect(headers).toMatchObject({
    deprecation: '@1795132800',
    sunset: 'Thu, 05 Dec 2030 00:00:00 GMT',
    link: `<${store.service.url}/v1/items>; rel="successor-version"`,
  });
}

describe('GET /v1/items/{itemId}', () => {
  it.each([
    [200, '0', {}],
    [304, '0', { 'If-None-Match': '*' }],
    [404, '999999999', {}],
  ])('%i announces the removal until the last millisecond', async (status, itemId, headers) => {
    await store.service.setClock(SUNSET_MS - 1);
    for (const method of ['GET', 'HEAD']) {
      const response = await get(itemId, method, headers);
      expect(response.status).toBe(status);
      expectAnnouncement(response);
    }
  });

  it('401 without deprecation headers', async () => {
    const { status, headers } = await store.anonymous.get('/v1/items/0');

    expect(status).toBe(401);
    const names = ['deprecation', 'sunset', 'link'];
    expect(Object.keys(headers).filter((name) => names.includes(name))).toEqual([]);
  });
});

test.each([
  ['on its removal date', SUNSET_MS],
  ['years after it', Date.parse('2042-01-01T00:00:00Z')],
])(
  'GET /v1/items/{itemId} › 410 that names its replacement %s; other methods and operations as before',
  async (_when, nowMs) => {
    await store.service.setClock(nowMs);
    for (const [itemId, headers] of [
      ['0', {}],
      ['0', { 'If-None-Match': '*' }],
      ['999999999', {}],
      ['none', {}],
    ] as const) {
      const response = await get(itemId, 'GET', headers);
      expect(expectError(response, 410, 'endpoint_removed')).toBe(
        'This operation was removed on 2030-12-05. List items with GET /v1/items instead.',
      );
      expect(response.headers).not.toHaveProperty('etag');
      expectAnnouncement(response);
    }
    const head = await get('0', 'HEAD');
    expect(head).toMatchObject({ status: 410, text: '' });
    expectAnnouncement(head);
    expectError(await store.anonymous.get('/v1/items/0'), 401, 'missing_api_key');
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
      const message = expectError(await get('0', method), 405, 'method_not_allowed');
      expect(message).toMatch(/methods: GET, HEAD, OPTIONS\.$/);
    }
    const list = await store.api.get('/v1/items');
    const created = await store.api.post('/v1/items', { name: 'Frank', categoryId: 7 });
    expect([list.status, created.status]).toEqual([200, 201]);
    for (const { headers } of [list, created]) {
      expect(headers).not.toHaveProperty('deprecation');
      expect(headers).not.toHaveProperty('sunset');
    }
  },
);
