import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createPets, newAnimal } from '../harness/database/animals.js';
import { unknownKey } from '../harness/database/api-keys.js';
import { createKey } from '../harness/database/factories.js';
import { ApiClient, type ApiResponse, send } from '../harness/http/client.js';
import { Description } from '../harness/http/description.js';
import { useStore } from '../harness/http/store.js';

const SUNSET_MS = Date.parse('2030-12-05T00:00:00Z');

const store = useStore({ app: true });
let description: Description;
let readOnly: ApiClient;
let pet: string;

beforeAll(async () => {
  description = await Description.of(store.service);
  const { key } = await createKey(store.database, store.owner.id, { access: 'read' });
  readOnly = new ApiClient(store.service, key);
  pet = `/v1/pets/${(await createPets(store.database, 3))[0]}`;
});

test('the OpenAPI description equals openapi.yaml (to update it: npm run openapi)', async () => {
  const committed = await readFile(join(__dirname, '../../openapi.yaml'), 'utf8');
  const { text } = await send(store.service, '/openapi.yaml');
  expect(text).toBe(committed.replace('- url: http://127.0.0.1:3000/v1', '- url: /v1'));
});

test('an API key starts with aas_, and the realm is pets', async () => {
  expect(unknownKey()).toMatch(/^aas_[0-9A-Za-z]{36}$/);
  const { headers } = await store.anonymous.get('/v1/pets');
  expect(headers['www-authenticate']).toBe('Bearer realm="pets"');
});

const get = (path: string) => (): Promise<ApiResponse> => store.api.get(path);
const post = (body: unknown) => store.api.post('/v1/pets', body);

test.each<[operation: string, status: number, () => Promise<ApiResponse>]>([
  ['GET /pets', 200, get('/v1/pets?limit=2')],
  ['GET /pets', 400, get('/v1/pets?status=lost')],
  ['GET /pets', 401, () => store.anonymous.get('/v1/pets')],
  ['POST /pets', 201, () => post(newAnimal())],
  ['POST /pets', 400, () => post(newAnimal({ name: '' }))],
  ['POST /pets', 403, () => readOnly.post('/v1/pets', newAnimal())],
  ['GET /pets/{petId}', 200, () => store.api.get(pet)],
  ['GET /pets/{petId}', 404, get('/v1/pets/0')],
])('%s › %i is as described', async (operation, status, respond) => {
  description.expectAsDescribed(operation, status, await respond());
});

test('GET /pets/{petId} › 410 is as described, and the operation leaves the description', async () => {
  await store.service.setClock(SUNSET_MS);
  description.expectAsDescribed('GET /pets/{petId}', 410, await store.api.get(pet));
  expect((await send(store.service, '/openapi.yaml')).text).not.toContain('getPet');
});
