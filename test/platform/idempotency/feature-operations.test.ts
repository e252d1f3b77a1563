import { createOwner } from '../../harness/database/factories.js';
import { ApiClient } from '../../harness/http/client.js';
import { expectError } from '../../harness/http/error-response.js';
import { useStore } from '../../harness/http/store.js';

const store = useStore({ features: 'idempotent' });
let api: ApiClient;
beforeEach(async () => {
  api = new ApiClient(store.service, (await createOwner(store.database)).key);
});

const NOTE = { text: 'a', author: 'b' };
const post = (path: string, body: object = NOTE) =>
  api.post(`/v1/notes/${path}`, body, { 'Idempotency-Key': 'k' });

describe('POST to a route of a feature with @IdempotencyKey()', () => {
  it.each([
    ['create/created', 201, /"int64":9223372036854775807/],
    ['create/nothing', 201, /^$/],
    ['create/null', 201, /^null$/],
    ['wrapped/created', 201, /"int64":9223372036854775807/],
    ['detached/created', 201, /"int64":9223372036854775807/],
    ['enveloped/created', 202, /"type":"bigint"/],
    ['enveloped/nothing', 202, /^\{"type":"undefined"\}$/],
  ])('%s › %i, and the same bytes for a retry', async (path, status, text) => {
    const first = await post(path);
    expect(first).toMatchObject({ status, text: expect.stringMatching(text) });
    expect(first.headers).not.toHaveProperty('idempotent-replayed');
    const retried = await post(path);
    expect([retried.status, retried.text]).toEqual([status, first.text]);
    expect(retried.headers).toMatchObject({ 'idempotent-replayed': 'true' });
  });

  it('201 is no replay for the client when the key is not that of the request', async () => {
    const first = await post('nightly/created');
    const second = await post('nightly/created');
    expect([second.status, second.text]).toEqual([201, first.text]);
    expect(second.headers).not.toHaveProperty('idempotent-replayed');
  });

  it('201 has the same bytes with a key as without one', async () => {
    const responses = [
      await post('create/created'),
      await api.post('/v1/notes/create/created', NOTE),
    ];
    for (const { text } of responses) {
      expect(text.replace(/"run":\d+,/, '')).toBe(
        '{"int64":9223372036854775807,"double":0.1234567890123456,"far":1e+21,"text":"12345678901234567890 \u2028 🐈","date":"2027-01-01T00:00:00.000Z","list":[null,0,[9007199254740993]]}',
      );
    }
  });

  it('422 for the same key when any property or the operation differs', async () => {
    await post('create/created');
    for (const [path, change] of [
      ['create/created', { text: 'other' }],
      ['create/created', { author: 'other' }],
      ['create/nothing', {}],
    ] as const) {
      expectError(await post(path, { ...NOTE, ...change }), 422, 'idempotency_key_reused');
    }
  });

  it('409 of the work is not stored: a retry does the work again', async () => {
    const responses = [await post('create/conflict'), await post('create/conflict')];
    expect(responses.map(({ status }) => status)).toEqual([409, 201]);
    expect(responses[1]?.headers).not.toHaveProperty('idempotent-replayed');
  });
});

test('expired responses are deleted', async () => {
  const count = async () =>
    (await store.query<{ count: number }>('SELECT count(*)::int FROM idempotency_keys'))[0]?.count;
  await post('create/created');
  expect(await count()).toBeGreaterThan(0);
  await store.service.advance(24 * 3_600_000);
  await store.service.runJob('Idempotency.deleteExpiredIfDue');
  expect(await count()).toBe(0);
});
