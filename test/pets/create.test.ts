import { createHash } from 'node:crypto';
import { createOwner } from '../harness/database/factories.js';
import { ApiClient } from '../harness/http/client.js';
import { expectError } from '../harness/http/error-response.js';
import { useStore } from '../harness/http/store.js';
import { animalText, newAnimal } from '../harness/database/animals.js';

const NAME_RULE =
  'must be a string of 1 to 255 characters, at least one of them not white space, without NUL, lone surrogates or byte order marks';
const CATEGORY_RULE =
  'must be an integer from -9223372036854775808 to 9223372036854775807, as a JSON number and not as a string';

const store = useStore({ app: true });

const add = (animal: object, headers = {}) => store.api.post('/v1/pets', animal, headers);
const countPets = () => store.query('SELECT count(*) FROM pets');

describe('POST /v1/pets', () => {
  it('201 with the animal and its assigned id, which every caller can read', async () => {
    const animal = newAnimal({ name: ' Zoë 🐈 ', categoryId: 5, status: 'sold' as const });
    const { status, text, json } = await add(animal);
    expect([status, text]).toEqual([201, animalText({ id: json.id, ...animal })]);
    const other = new ApiClient(store.service, (await createOwner(store.database)).key);
    expect((await other.get(`/v1/pets/${json.id}`)).text).toBe(text);
    expect((await other.get('/v1/pets?status=sold')).text).toBe(`[${text}]`);
  });

  it('201 with the status available if it is omitted, and the API key is recorded', async () => {
    const { json } = await add(newAnimal({ id: 1, createdByKeyId: 0, createdAt: '2000-01-01' }));
    expect(json).toMatchObject({ status: 'available' });
    const [row] = await store.query(
      `SELECT created_by_key_id AS "keyId", created_at > now() - interval '1 minute' AS "isNew"
         FROM pets WHERE id = $1`,
      [json.id],
    );
    expect(row).toEqual({ keyId: store.owner.keyId, isNew: true });
  });

  it.each<[changes: object, message: string]>([
    [{ name: '' }, `name ${NAME_RULE}`],
    [{ name: 'x'.repeat(256) }, `name ${NAME_RULE}`],
    [{ name: undefined }, `name is required and ${NAME_RULE}`],
    [{ categoryId: '5' }, `categoryId ${CATEGORY_RULE}`],
    [{ categoryId: undefined }, `categoryId is required and ${CATEGORY_RULE}`],
    [{ status: 'lost' }, 'status must be one of available, pending, sold'],
    [{ Status: 'sold' }, 'Status must be written as status'],
  ])('400 for %j names the rule, and nothing is added', async (changes, message) => {
    const before = await countPets();
    expect(expectError(await add(newAnimal(changes)), 400, 'invalid_request')).toBe(`${message}.`);
    expect(await countPets()).toEqual(before);
  });

  it('201 again with an Idempotency-Key, also when the first release stored the response', async () => {
    const headers = { 'Idempotency-Key': 'k' };
    const animal = newAnimal({ name: 'Frank', categoryId: 7 });
    const first = await add(animal, headers);
    expect((await add(animal, headers)).text).toBe(first.text);
    const fingerprint = createHash('sha256')
      .update('["createPet","Frank",{"int64":"7"},"available"]')
      .digest();
    const stored = 'UPDATE idempotency_keys SET fingerprint = $1 RETURNING 1';
    expect(await store.query(stored, [fingerprint])).toHaveLength(1);
    const replay = await add({ ...animal, status: 'available' }, headers);
    expect([replay.text, replay.headers['idempotent-replayed']]).toEqual([first.text, 'true']);
    expectError(await add({ ...animal, status: 'sold' }, headers), 422, 'idempotency_key_reused');
  });
});

it.each(['PUT', 'PATCH', 'DELETE'])('%s /v1/pets › 405 with the reason', async (method) => {
  const response = await store.api.send('/v1/pets', { method });
  expect(expectError(response, 405, 'method_not_allowed')).toMatch(
    /GET, POST, HEAD, OPTIONS\. Animals cannot be changed or removed/,
  );
});
