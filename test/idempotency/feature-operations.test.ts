import { createOwner } from '../harness/database/factories.js';
import { type ApiResponse, ApiClient } from '../harness/http/client.js';
import { expectError } from '../harness/http/error-response.js';
import { useStore } from '../harness/http/store.js';

const store = useStore({ features: 'idempotent' });
let api: ApiClient;
beforeEach(async () => {
  api = new ApiClient(store.service, (await createOwner(store.database)).key);
});

const NOTE = { text: 'a', author: 'b' };
const post = (path: string, body: object = NOTE, key: string | undefined = 'k') =>
  api.post(`/v1/notes/${path}`, body, { 'Idempotency-Key': key });

function expectReplay(response: ApiResponse, first: ApiResponse): void {
  expect(first.headers).not.toHaveProperty('idempotent-replayed');
  expect([response.status, response.text]).toEqual([first.status, first.text]);
  expect(response.headers).toMatchObject({ 'idempotent-replayed': 'true' });
}

describe('POST to a route of a feature with @IdempotencyKey()', () => {
  it.each([
    ['create/created', 201, /"int64":9223372036854775807/],
    ['create/nothing', 201, /^$/],
    ['create/null', 201, /^null$/],
    ['create-without-content/created', 204, /^$/],
    ['enveloped/created', 202, /"type":"bigint"/],
    ['enveloped/nothing', 202, /^\{"type":"undefined"\}$/],
  ])('%s › %i, and the same bytes for a retry', async (path, status, text) => {
    const first = await post(path);
    expect(first).toMatchObject({ status, text: expect.stringMatching(text) });
    expectReplay(await post(path), first);
  });

  it('201 has the same bytes with a key as without one', async () => {
    const texts = [
      (await post('create/created')).text,
      (await api.post('/v1/notes/create/created', NOTE)).text,
    ].map((text) => text.replace(/"run":\d+/, ''));
    expect(texts[0]).toBe(texts[1]);
    expect(texts[0]).toBe(
      '{,"large":1208925819614629174706176,"int64":9223372036854775807,"small":1,"double":0.1234567890123456,"far":1e+21,"text":"12345678901234567890 \u2028 🐈","date":"2027-01-01T00:00:00.000Z","money":"1.50","list":[null,0,[9007199254740993]]}',
    );
  });

  it.each([{ text: 'other' }, { author: 'other' }])(
    '422 for the same key when any property of the DTO differs: %j',
    async (change) => {
      await post('create/created');
      const response = await post('create/created', { ...NOTE, ...change });
      expectError(response, 422, 'idempotency_key_reused');
    },
  );

  it('422 for the same key and content in another operation', async () => {
    await post('create/created');
    expect((await post('create/nothing')).status).toBe(422);
  });

  it('409 of the work is not stored: a retry does the work again', async () => {
    const responses = [await post('create/conflict'), await post('create/conflict')];
    expect(responses.map(({ status }) => status)).toEqual([409, 201]);
    expect(responses[1]?.headers).not.toHaveProperty('idempotent-replayed');
  });
});
