import { join } from 'node:path';
import { ApiClient } from '../harness/http/client.js';
import { createOwner } from '../harness/database/factories.js';
import { startService, type TestService } from '../harness/service/service.js';

let service: TestService;
let client: ApiClient;

beforeAll(async () => {
  service = await startService({
    features: join(__dirname, '../harness/features/mapped-types.mjs'),
  });
  client = new ApiClient(service, (await createOwner(service.database)).key);
});
afterAll(() => service.close());

const patch = (changes: object) =>
  client.send('/v1/toys', {
    method: 'PATCH',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(changes),
  });

describe('PATCH /v1/toys with the PartialType of a DTO', () => {
  test('200 with properties that are transformed and converted as in the DTO', async () => {
    const changes = { name: 'Rope', petId: 5, box: { width: 1 } };
    const { status, json } = await patch({ ...changes, name: ' Rope ' });
    expect([status, json]).toEqual([200, changes]);
  });

  test('200 when every property is missing', async () => {
    const { status, json } = await patch({});
    expect([status, json]).toEqual([200, {}]);
  });

  test('400 that names the invalid property of a nested DTO', async () => {
    const { status, json } = await patch({ box: { width: '1' } });
    expect([status, json.message]).toEqual([400, expect.stringContaining('box.width')]);
  });
});

test('GET /v1/toys with ClassSerializerInterceptor › 200 without an excluded property', async () => {
  const { status, json } = await client.get('/v1/toys');
  expect([status, json]).toEqual([200, { name: 'Rope' }]);
});
