import type { ApiResponse } from '../harness/http/client.js';
import { expectError } from '../harness/http/error-response.js';
import { useStore } from '../harness/http/store.js';
import { animalText, createPets } from './animal.js';

const SUNSET_MS = Date.parse('2030-12-05T00:00:00.000Z');
/** The only animals, by id. */
const NAMES: Record<string, string> = {
  '9007199254740993': 'Odd',
  '9223372036854775807': 'Last',
  '-9223372036854775808': 'First',
  '0': 'Zero',
  '-5': 'Minus five',
};

const INTEGERS = '999999999 9007199254740992 9223372036854775806 -1'.split(' ');

const store = useStore({ app: true });

beforeAll(() =>
  store.query(
    `INSERT INTO pets (id, name, category_id, status) OVERRIDING SYSTEM VALUE
     SELECT key::bigint, value, 1, 'pending' FROM json_each_text($1)`,
    [JSON.stringify(NAMES)],
  ),
);

const get = (petId: string, method = 'GET', headers = {}): Promise<ApiResponse> =>
  store.api.send(`/v1/pets/${petId}`, { method, headers });

function expectAnnouncement({ headers }: ApiResponse): void {
  expect(headers).toMatchObject({
    deprecation: '@1795132800',
    sunset: 'Thu, 05 Dec 2030 00:00:00 GMT',
    link: `<${store.service.url}/v1/pets>; rel="successor-version"`,
  });
}

describe('GET /v1/pets/{petId}', () => {
  it.each(Object.entries(NAMES))('200 with the animal with the id %s', async (petId, name) => {
    const { status, headers, text } = await get(petId);

    expect(status).toBe(200);
    expect(text).toBe(animalText({ id: petId, name, categoryId: 1, status: 'pending' }));
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'cache-control': 'private, no-cache',
      vary: 'Authorization',
    });
  });

  it('200 with the current state of the database', async () => {
    const [petId = ''] = await createPets(store.service.database, 1);
    expect((await get(petId)).json.status).toBe('available');

    await store.query(`UPDATE pets SET status = 'sold' WHERE id = $1`, [petId]);
    expect((await get(petId)).json.status).toBe('sold');
    await store.query('DELETE FROM pets WHERE id = $1', [petId]);
    expect((await get(petId)).status).toBe(404);
  });

  it.each([
    // Integers that no animal has.
    ...INTEGERS,
    // Other notations of 0 and -5.
    ...'00 -0 %2B0 +0 0.0 0e0 0x0 -05 %20-5 -5%20 -5%0A -5%00 %E2%88%925 0n 0,0 0;a=1'.split(' '),
    ...'0%2F %EF%BC%90 9223372036854775808 -9223372036854775809 18446744073709551616'.split(' '),
    '9'.repeat(1_000),
    ...'abc null undefined NaN __proto__ %27 - . %C3%A9'.split(' '),
  ])('404 pet_not_found for the id %s', async (petId) => {
    const response = await get(petId);

    const hint = INTEGERS.includes(petId) ? '' : ' An identifier is a 64-bit integer, such as 42.';
    const message = `No animal has this identifier.${hint}`;
    expect(expectError(response, 404, 'pet_not_found')).toBe(message);
    expect(response.headers).not.toHaveProperty('etag');
  });

  it.each([
    [200, '0', {}],
    [304, '0', { 'If-None-Match': '*' }],
    [404, '999999999', {}],
  ])('%i announces the removal until the last millisecond', async (status, petId, headers) => {
    await store.service.setClock(SUNSET_MS - 1);
    for (const method of ['GET', 'HEAD']) {
      const response = await get(petId, method, headers);
      expect(response.status).toBe(status);
      expectAnnouncement(response);
    }
  });

  it('401 without deprecation headers', async () => {
    const { status, headers } = await store.anonymous.get('/v1/pets/0');

    expect(status).toBe(401);
    const names = ['deprecation', 'sunset', 'link'];
    expect(Object.keys(headers).filter((name) => names.includes(name))).toEqual([]);
  });
});

test.each([
  ['on its removal date', SUNSET_MS],
  ['years after it', Date.parse('2042-01-01T00:00:00Z')],
])(
  'GET /v1/pets/{petId} › 410 that names its replacement %s; other methods and operations as before',
  async (_when, nowMs) => {
    await store.service.setClock(nowMs);
    for (const [petId, headers] of [
      ['0', {}],
      ['0', { 'If-None-Match': '*' }],
      ['999999999', {}],
      ['none', {}],
    ] as const) {
      const response = await get(petId, 'GET', headers);
      expect(expectError(response, 410, 'endpoint_removed')).toBe(
        'This operation was removed on 2030-12-05. List animals with GET /v1/pets and its status filter instead.',
      );
      expect(response.headers).not.toHaveProperty('etag');
      expectAnnouncement(response);
    }
    const head = await get('0', 'HEAD');
    expect(head).toMatchObject({ status: 410, text: '' });
    expectAnnouncement(head);
    expectError(await store.anonymous.get('/v1/pets/0'), 401, 'missing_api_key');
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
      const message = expectError(await get('0', method), 405, 'method_not_allowed');
      expect(message).toMatch(/methods: GET, HEAD, OPTIONS\. Animals cannot be changed/);
    }
    const list = await store.api.get('/v1/pets');
    const created = await store.api.post('/v1/pets', { name: 'Frank', categoryId: 7 });
    expect([list.status, created.status]).toEqual([200, 201]);
    for (const { headers } of [list, created]) {
      expect(headers).not.toHaveProperty('deprecation');
      expect(headers).not.toHaveProperty('sunset');
    }
  },
);
