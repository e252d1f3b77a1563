import { type ApiResponse, ApiClient } from '../harness/http/client.js';
import { createOwner, createPets } from '../harness/database/factories.js';
import { startService, type TestService } from '../harness/service/service.js';

const SUNSET_MS = Date.parse('2030-12-05T00:00:00.000Z');

let service: TestService;
let key: string;
let api: ApiClient;
let pet: string;

beforeAll(async () => {
  service = await startService();
  ({ key } = await createOwner(service.database));
  api = new ApiClient(service, key);
  pet = `/v1/pets/${(await createPets(service.database, 1))[0]}`;
});

afterAll(() => service.close());

function expectAnnouncement({ headers }: ApiResponse, link = `${service.url}/v1/pets`): void {
  expect(headers).toMatchObject({
    deprecation: '@1795132800',
    sunset: 'Thu, 05 Dec 2030 00:00:00 GMT',
    link: `<${link}>; rel="successor-version"`,
  });
}

describe('GET /v1/pets/{petId} › before its removal date', () => {
  beforeAll(() => service.setClock(SUNSET_MS - 1));

  it.each([
    [200, 'GET', () => pet, {}],
    [200, 'HEAD', () => pet, {}],
    [304, 'GET', () => pet, { 'If-None-Match': '*' }],
    [304, 'HEAD', () => pet, { 'If-None-Match': '*' }],
    [404, 'GET', () => '/v1/pets/999999999', {}],
    [404, 'GET', () => '/v1/pets/none', {}],
    [404, 'HEAD', () => '/v1/pets/none', {}],
  ])('%i (%s) that announces it, one millisecond before', async (status, method, path, headers) => {
    const response = await api.send(path(), { method, headers });

    expect(response.status).toBe(status);
    expectAnnouncement(response);
  });

  it('401 without deprecation headers', async () => {
    const response = await new ApiClient(service).get(pet);

    expect(response.status).toBe(401);
    for (const name of ['deprecation', 'sunset', 'link']) {
      expect(response.headers).not.toHaveProperty(name);
    }
  });

  it('200 with an absolute Link under PUBLIC_URL', async () => {
    const published = await startService({
      database: service.database,
      env: { PUBLIC_URL: 'https://api.example.org/store' },
    });

    try {
      const response = await new ApiClient(published, key).get(pet, { Host: 'evil.example' });
      expectAnnouncement(response, 'https://api.example.org/store/v1/pets');
    } finally {
      await published.close();
    }
  });
});

describe.each([
  ['on its removal date', SUNSET_MS],
  ['a moment after it', SUNSET_MS + 1],
  ['years after it', Date.parse('2042-01-01T00:00:00Z')],
])('GET /v1/pets/{petId} › %s', (_when, nowMs) => {
  beforeAll(() => service.setClock(nowMs));

  it.each([
    ['an animal', () => pet, {}],
    ['an animal that the caller has', () => pet, { 'If-None-Match': '*' }],
    ['no animal', () => '/v1/pets/999999999', {}],
    ['no id', () => '/v1/pets/none', {}],
  ])('410 endpoint_removed that names what replaces it: %s', async (_what, path, headers) => {
    const response = await api.get(path(), headers);

    expect(response.status).toBe(410);
    expect(response.json).toEqual({
      code: 'endpoint_removed',
      message:
        'This operation was removed on 2030-12-05. List animals with GET /v1/pets and its status filter instead.',
      status: 410,
    });
    expect(response.headers['cache-control']).toBe('no-store');
    expect(response.headers).not.toHaveProperty('etag');
    expectAnnouncement(response);
  });

  it('410 without a body to HEAD', async () => {
    const response = await api.send(pet, { method: 'HEAD' });

    expect(response).toMatchObject({ status: 410, text: '' });
    expectAnnouncement(response);
  });

  it('401 without a key', async () => {
    expect((await new ApiClient(service).get(pet)).status).toBe(401);
  });

  it.each(['POST', 'PUT', 'PATCH', 'DELETE'])('405, still, to %s', async (method) => {
    const response = await api.send(pet, { method });

    expect(response.status).toBe(405);
    expect(response.json).toMatchObject({ code: 'method_not_allowed' });
  });

  it('200 and 201 from GET /v1/pets and POST /v1/pets', async () => {
    const list = await api.get('/v1/pets');
    const created = await api.post('/v1/pets', { name: 'Frank', categoryId: 7 });

    expect([list.status, created.status]).toEqual([200, 201]);
    for (const { headers } of [list, created]) {
      expect(headers).not.toHaveProperty('deprecation');
      expect(headers).not.toHaveProperty('sunset');
    }
  });
});
