import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PET_NOT_FOUND } from '../../src/pets/pets.errors.js';
import { ERRORS } from '../../src/platform/errors/catalogue.js';
import { createKey } from '../harness/database/factories.js';
import { unknownKey } from '../harness/database/api-keys.js';
import { ApiClient, type ApiResponse, send } from '../harness/http/client.js';
import { Description, type ParameterObject } from '../harness/http/description.js';
import { useStore } from '../harness/http/store.js';
import {
  codesIn,
  commandsIn,
  documentedCommands,
  rowsOf,
  sorted,
} from '../harness/pages/tables.js';
import { Cli } from '../harness/processes/command.js';
import { createPets, newAnimal } from './animal.js';

const SUNSET_MS = Date.parse('2030-12-05T00:00:00Z');

const STATUS_OF: Record<string, number> = {
  ...Object.fromEntries(Object.entries(ERRORS).map(([code, { status }]) => [code, status])),
  [PET_NOT_FOUND.code]: PET_NOT_FOUND.status,
};

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

test('the examples of an animal are valid', () => {
  const { Pet, NewPet } = description.document.components.schemas;
  for (const { properties } of [Pet, NewPet])
    for (const [name, schema] of Object.entries<{ type: string; example?: unknown }>(properties)) {
      if (schema.example === undefined) continue;
      expect([name, description.violations(schema.example, schema)]).toEqual([name, []]);
    }
});

test('docs/clients.md has each code of the description, with its status', () => {
  const { Error: schema } = description.document.components.schemas;
  const rows = rowsOf('docs/clients.md', 'status', 'code');
  const codes = rows.map((row) => codesIn(row['code'] ?? ''));
  expect(codes.flat().sort()).toEqual([...(schema.properties.code.enum as string[])].sort());
  for (const [index, row] of rows.entries()) {
    const statuses = codes[index]?.map((code) => String(STATUS_OF[code]));
    // A 417 has a code of 400.
    expect(sorted(statuses ?? [])).toEqual(row['status']?.replace(', 417', '').split(', '));
  }
});

test('docs/commands.md has each command of the animals', async () => {
  const { stdout } = await new Cli({}, { app: true }).run('animals', '--help');
  expect(documentedCommands('animals')).toEqual(commandsIn(stdout));
});

test('getPet says what replaces it, that the list has no filter by id, and what to do', () => {
  const { description: text } = description.operation('GET /pets/{petId}');
  const [before, after] = text?.split('Use `GET /pets` with the `status` filter instead.') ?? [];
  expect(before).toMatch(/removed on 5 December 2030/);
  expect(after).toMatch(/no filter by `id`, because .* keep a copy .*docs\/clients\.md/);
});

test.each(['page', 'per_page', 'offset', 'sort', 'id', 'name'])(
  'limit and cursor say that %s does not exist',
  (name) => {
    const parameters = description.operation('GET /pets').parameters as ParameterObject[];
    expect(parameters.some((parameter) => parameter.name === name)).toBe(false);
    for (const paging of ['limit', 'cursor']) {
      const text = parameters.find((parameter) => parameter.name === paging)?.description;
      expect(text).toMatch(RegExp(`does not exist and is ignored.*\`${name}\``));
    }
  },
);

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
