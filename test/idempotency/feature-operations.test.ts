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
    ['create/created', 201, /^\{"/],
    ['create/nothing', 201, /^$/],
    ['create-without-content/created', 204, /^$/],
  ])('%s › %i, and the stored response for a retry', async (path, status, text) => {
    const first = await post(path);
    expect(first).toMatchObject({ status, text: expect.stringMatching(text) });
    expectReplay(await post(path), first);
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
    expect(responses.map(({ status }) => status).sort()).toEqual([201, 409]);
    const created = responses.find(({ status }) => status === 201);
    expect(created?.headers).not.toHaveProperty('idempotent-replayed');
  });

  it('500 that the log explains when the work returns what cannot be stored', async () => {
    expectError(await post('create/page'), 500, 'internal_error');
    await store.service.waitForLog((line) =>
      JSON.stringify(line).includes('returned a Page, which cannot be stored'),
    );
  });

  it.each(['forget-once', 'change-result', 'use-other-key'])(
    '500 that the log explains when the handler would not be safe to retry: %s',
    async (path) => {
      expectError(await post(`${path}/created`), 500, 'internal_error');
      await store.service.waitForLog((line) =>
        JSON.stringify(line).includes(
          `POST /v1/notes/${path}/:work received an Idempotency-Key, and did not return the result of Idempotency.once`,
        ),
      );
    },
  );

  it.each([
    ['accept', 202],
    ['reject', 409],
  ])(
    '500 that the log explains, and no replay with another status, when the work sets the status: %s',
    async (work, status) => {
      expectError(await post(`set-status/${work}`), 500, 'internal_error');
      await store.service.waitForLog((line) =>
        JSON.stringify(line).includes(
          `POST /v1/notes/set-status/:work has set the status ${status}`,
        ),
      );
    },
  );

  it('202 of the handler, also for the stored response', async () => {
    const first = await post('accepted/created');
    expect(first.status).toBe(202);
    expectReplay(await post('accepted/created'), first);
  });

  it('201 for such a handler when the request has no key', async () => {
    expect((await api.post('/v1/notes/forget-once/created', NOTE)).status).toBe(201);
  });
});
