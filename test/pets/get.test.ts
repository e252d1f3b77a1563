import { ApiClient } from '../harness/http/client.js';
import { createOwner, createPets } from '../harness/database/factories.js';
import { startService, type TestService } from '../harness/service/service.js';

let service: TestService;
let api: ApiClient;
let id: string;

beforeAll(async () => {
  service = await startService();
  api = new ApiClient(service, (await createOwner(service.database)).key);
  [id] = (await createPets(service.database, 1, () => 'pending')) as [string];
  await service.database.query(
    `INSERT INTO pets (id, name, category_id, status) OVERRIDING SYSTEM VALUE
     VALUES (0, 'Zero', 1, 'sold'), (-5, 'Minus five', 1, 'sold'), (9007199254740993, 'Odd', 1, 'sold'),
            (9223372036854775807, 'Last', 1, 'sold'), (-9223372036854775808, 'First', 1, 'sold')`,
  );
});

afterAll(() => service.close());

describe('GET /v1/pets/{petId}', () => {
  it('200 with id, name, categoryId and status of the animal, and nothing else', async () => {
    const response = await api.get(`/v1/pets/${id}`);

    expect(response.status).toBe(200);
    expect(response.text).toBe(`{"id":${id},"name":"Pet 1","categoryId":1,"status":"pending"}`);
    expect(response.headers).toMatchObject({
      'content-type': 'application/json',
      'cache-control': 'private, no-cache',
      vary: 'Authorization',
    });
  });

  it('200 with the current state of the database', async () => {
    const [pet] = (await createPets(service.database, 1)) as [string];
    expect((await api.get(`/v1/pets/${pet}`)).json.status).toBe('available');

    await service.database.query(`UPDATE pets SET status = 'sold' WHERE id = $1`, [pet]);
    expect((await api.get(`/v1/pets/${pet}`)).json.status).toBe('sold');
    await service.database.query('DELETE FROM pets WHERE id = $1', [pet]);
    expect((await api.get(`/v1/pets/${pet}`)).status).toBe(404);
  });

  it.each([
    ['9007199254740993', 'Odd'],
    ['9223372036854775807', 'Last'],
    ['-9223372036854775808', 'First'],
    ['0', 'Zero'],
    ['-5', 'Minus five'],
  ])('200 with the exact id %s', async (petId, name) => {
    const response = await api.get(`/v1/pets/${petId}`);

    expect(response.status).toBe(200);
    expect(response.text).toBe(`{"id":${petId},"name":"${name}","categoryId":1,"status":"sold"}`);
  });

  it('200 and the query is ignored', async () => {
    expect((await api.get(`/v1/pets/${id}?limit=0&status=lost&cursor=x`)).status).toBe(200);
  });

  it.each(['999999999', '9007199254740992', '9223372036854775806', '-1'])(
    '404 pet_not_found when no animal has the id %s',
    async (petId) => {
      const response = await api.get(`/v1/pets/${petId}`);

      expect(response.status).toBe(404);
      expect(response.json).toEqual({
        code: 'pet_not_found',
        message: 'No animal has this identifier.',
        status: 404,
      });
      expect(response.headers['cache-control']).toBe('no-store');
      expect(response.headers).not.toHaveProperty('etag');
    },
  );

  it.each([
    '00',
    '-0',
    '%2B0',
    '+0',
    '0.0',
    '0e0',
    '0x0',
    '-05',
    '%20-5',
    '-5%20',
    '-5%0A',
    '-5%00',
    '%E2%88%925',
    '%EF%BC%99',
    '0n',
    '0,0',
    '0;a=1',
    '0%2F',
    '9223372036854775808',
    '-9223372036854775809',
    '18446744073709551616',
    '9'.repeat(1_000),
    'abc',
    'null',
    'undefined',
    'NaN',
    '__proto__',
    '%27',
    '-',
    '.',
    '%C3%A9',
  ])('404 pet_not_found when the id is no canonical int64: %s', async (petId) => {
    const response = await api.get(`/v1/pets/${petId}`);

    expect(response.status).toBe(404);
    expect(response.json).toMatchObject({ code: 'pet_not_found' });
  });
});

describe('HEAD /v1/pets/{petId}', () => {
  it('200 with the headers of a GET and no body', async () => {
    const get = await api.get(`/v1/pets/${id}`);
    const head = await api.send(`/v1/pets/${id}`, { method: 'HEAD' });

    expect(head).toMatchObject({ status: 200, text: '' });
    for (const name of [
      'content-type',
      'content-length',
      'etag',
      'link',
      'deprecation',
      'sunset',
    ]) {
      expect([name, head.headers[name]]).toEqual([name, get.headers[name] ?? 'nothing']);
    }
  });

  it('404 without a body when no animal has the id', async () => {
    const head = await api.send('/v1/pets/999999999', { method: 'HEAD' });

    expect(head).toMatchObject({ status: 404, text: '' });
  });
});
