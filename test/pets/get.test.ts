import { expectError } from '../harness/http/error-response.js';
import { useStore } from '../harness/http/store.js';
import { addPets, animalText, newAnimal } from '../harness/database/animals.js';

const SUNSET_MS = Date.parse('2030-12-05T00:00:00.000Z');
const ID = '9007199254740993';

const store = useStore({ app: true });

beforeAll(() => addPets(store.database, [{ id: ID, status: 'pending' }]));

describe('GET /v1/pets/{petId}', () => {
  it('200 with the animal, and the announcement of the removal', async () => {
    const { status, text, headers } = await store.api.get(`/v1/pets/${ID}`);
    expect([status, text]).toEqual([200, animalText({ id: ID, status: 'pending' })]);
    expect(headers).toMatchObject({
      deprecation: '@1795132800',
      sunset: 'Thu, 05 Dec 2030 00:00:00 GMT',
      link: `<${store.service.url}/v1/pets>; rel="successor-version"`,
    });
  });

  it.each(['9007199254740992', '-1', 'x', '9223372036854775808'])(
    '404 pet_not_found for the id %s',
    async (petId) => {
      const response = await store.api.get(`/v1/pets/${petId}`);
      const message = expectError(response, 404, 'pet_not_found');
      expect(message).toMatch(/^No animal has this identifier\./);
    },
  );

  it('405 that says who changes animals', async () => {
    const response = await store.api.send(`/v1/pets/${ID}`, { method: 'DELETE' });
    expect(expectError(response, 405, 'method_not_allowed')).toMatch(
      /methods: GET, HEAD, OPTIONS\. Animals cannot be changed or removed/,
    );
  });

  it('410 that names the replacement from the sunset on, and the other operations as before', async () => {
    await store.service.setClock(SUNSET_MS);
    const response = await store.api.get(`/v1/pets/${ID}`);
    expect(expectError(response, 410, 'endpoint_removed')).toBe(
      'This operation was removed on 2030-12-05. List animals with GET /v1/pets and its status filter instead.',
    );
    const list = await store.api.get('/v1/pets');
    const created = await store.api.post('/v1/pets', newAnimal());
    expect([list.status, created.status]).toEqual([200, 201]);
  });
});
