import { ApiClient } from '../harness/http/client.js';
import { createOwner, createPets } from '../harness/database/factories.js';
import { startService, type TestService } from '../harness/service/service.js';

const LIMIT_RULE = 'limit must be an integer from 1 to 100';
const STATUS_RULE = 'status must be one of available, pending, sold';

let service: TestService;
let api: ApiClient;
let ids: string[];

/** Every third animal is pending, none is sold. */
const statusOf = (index: number) => (index % 3 === 2 ? 'pending' : 'available');

beforeAll(async () => {
  service = await startService();
  api = new ApiClient(service, (await createOwner(service.database)).key);
  ids = await createPets(service.database, 130, statusOf);
});

afterAll(() => service.close());

const idsOf = (pets: { id: number }[]): string[] => pets.map(({ id }) => String(id));

describe('GET /v1/pets', () => {
  it('200 with the first 20 animals in ascending order of id when no limit is given', async () => {
    const response = await api.get('/v1/pets');

    expect(response.status).toBe(200);
    expect(idsOf(response.json)).toEqual(ids.slice(0, 20));
  });

  it('200 with id, name, categoryId and status of an animal, and nothing else', async () => {
    const response = await api.get('/v1/pets?limit=1');

    expect(response.text).toBe(
      `[{"id":${ids[0]},"name":"Pet 1","categoryId":1,"status":"available"}]`,
    );
  });

  it('200 as application/json with Cache-Control: private, no-cache', async () => {
    const { headers } = await api.get('/v1/pets');

    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'cache-control': 'private, no-cache',
      vary: 'Authorization',
    });
  });

  it.each([1, 2, 19, 20, 21, 99, 100])('200 with as many animals as limit=%i', async (limit) => {
    const response = await api.get(`/v1/pets?limit=${limit}`);

    expect(response.status).toBe(200);
    expect(idsOf(response.json)).toEqual(ids.slice(0, limit));
  });

  it.each(['available', 'pending'])('200 with the animals of status=%s only', async (status) => {
    const response = await api.get(`/v1/pets?status=${status}&limit=30`);

    expect(response.status).toBe(200);
    expect(idsOf(response.json)).toEqual(
      ids.filter((_id, index) => statusOf(index) === status).slice(0, 30),
    );
    expect(response.json).toEqual(response.json.map((pet: object) => ({ ...pet, status })));
  });

  it('200 with an empty array and no Link when no animal has the status', async () => {
    const response = await api.get('/v1/pets?status=sold');

    expect(response).toMatchObject({ status: 200, text: '[]' });
    expect(response.headers).not.toHaveProperty('link');
  });

  it.each([
    ['an unknown name', '?color=black&color=red'],
    ['a name in capitals', '?LIMIT=5&Status=lost'],
    ['names of Object.prototype', '?__proto__=x&constructor=y&toString=z&hasOwnProperty=1'],
    ['names in brackets', '?limit[]=5&status[0]=lost'],
    ['nothing at all', '?'],
    ['empty pieces', '?&&=&=5'],
  ])('200 with the query parameters ignored: %s', async (_what, query) => {
    const response = await api.get(`/v1/pets${query}`);

    expect(response.status).toBe(200);
    expect(idsOf(response.json)).toEqual(ids.slice(0, 20));
  });

  it('200 with percent-encoded parameters', async () => {
    const response = await api.get('/v1/pets?%6cimit=%33&status=%70ending');

    expect(response.status).toBe(200);
    expect(response.json).toHaveLength(3);
    expect(response.json[0]).toMatchObject({ id: Number(ids[2]), status: 'pending' });
  });

  it('400 invalid_request also when limit is the last of very many parameters', async () => {
    const response = await api.get(`/v1/pets?${'a&'.repeat(1500)}limit=abc`);

    expect(response.status).toBe(400);
  });

  it.each([
    '0',
    '101',
    '1000',
    '99999999999999999999',
    '-1',
    '-0',
    '05',
    '00',
    '+5',
    '%2B5',
    'abc',
    '1.5',
    '5.0',
    '1e1',
    '0x10',
    '%205',
    '5%20',
    '5%0A',
    '5%00',
    '1_0',
    '%EF%BC%95',
    'NaN',
    'Infinity',
    'null',
    '5n',
    '5,6',
    '',
    '5&limit=5',
    '5&limit=',
  ])('400 invalid_request when limit=%s', async (limit) => {
    const response = await api.get(`/v1/pets?limit=${limit}`);

    expect(response.status).toBe(400);
    expect(response.json).toEqual({
      code: 'invalid_request',
      message: `${LIMIT_RULE}.`,
      status: 400,
    });
  });

  it.each([
    'lost',
    'Available',
    'SOLD',
    'available%20',
    '%20sold',
    'sold%00',
    'available,sold',
    'null',
    'undefined',
    '0',
    '',
    'sold&status=sold',
    'sold&status=pending',
  ])('400 invalid_request when status=%s', async (status) => {
    const response = await api.get(`/v1/pets?status=${status}`);

    expect(response.status).toBe(400);
    expect(response.json).toEqual({
      code: 'invalid_request',
      message: `${STATUS_RULE}.`,
      status: 400,
    });
  });

  it.each(['?limit', '?status'])('400 invalid_request when %s has no value', async (query) => {
    expect((await api.get(`/v1/pets${query}`)).json).toMatchObject({ code: 'invalid_request' });
  });

  it('400 that lists both parameters when both are invalid, in any order', async () => {
    const response = await api.get('/v1/pets?status=lost&cursor=lost&limit=0');

    expect(response.json).toEqual({
      code: 'invalid_request',
      message: `${LIMIT_RULE}; ${STATUS_RULE}.`,
      status: 400,
    });
  });

  it('400 with Cache-Control: no-store', async () => {
    const { headers } = await api.get('/v1/pets?limit=0');

    expect(headers['cache-control']).toBe('no-store');
    expect(headers).not.toHaveProperty('etag');
  });
});

describe('HEAD /v1/pets', () => {
  it('200 with the headers of a GET and no body', async () => {
    const get = await api.get('/v1/pets?limit=3');
    const head = await api.send('/v1/pets?limit=3', { method: 'HEAD' });

    expect(head).toMatchObject({ status: 200, text: '' });
    for (const name of [
      'content-type',
      'content-length',
      'etag',
      'link',
      'cache-control',
      'vary',
    ]) {
      expect([name, head.headers[name]]).toEqual([name, get.headers[name] ?? 'nothing']);
    }
  });

  it('400 without a body when the limit is wrong', async () => {
    const head = await api.send('/v1/pets?limit=0', { method: 'HEAD' });

    expect(head).toMatchObject({ status: 400, text: '' });
    expect(Number(head.headers['content-length'])).toBeGreaterThan(0);
  });
});

describe('paths', () => {
  it.each([
    '/v1/pets/',
    '/v1/pets/?limit=1',
    '/v1//pets',
    '//v1/pets',
    '/v1/pets//',
    '/V1/pets',
    '/v1/Pets',
    '/v1/PETS',
    '/v1/%70ets',
    '/v1/pets;a=1',
    '/v1/pets.json',
    '/v1/pet',
    '/v1/petss',
    '/v2/pets',
    '/pets',
    '/v1',
    '/v1/',
    '/v1/pets/1/',
    '/v1/pets/1/name',
    '/v1/pets//1',
  ])('GET %s › 404 route_not_found', async (path) => {
    const response = await api.get(path);

    expect(response.status).toBe(404);
    expect(response.json).toMatchObject({ code: 'route_not_found', status: 404 });
    expect(response.headers['cache-control']).toBe('no-store');
  });
});
