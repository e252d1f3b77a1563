import { join } from 'node:path';
import { createOwner } from '../harness/database/factories.js';
import { type ApiResponse, ApiClient } from '../harness/http/client.js';
import { startService, type TestService } from '../harness/service/service.js';

let service: TestService;
let api: ApiClient;

beforeAll(async () => {
  service = await startService({ features: join(__dirname, '../harness/features/idempotent.mjs') });
});
beforeEach(async () => {
  api = new ApiClient(service, (await createOwner(service.database)).key);
});
afterAll(() => service.close());

const NOTE = { text: 'a', author: 'b' };
const post = (path: string, body: object = NOTE, key: string | undefined = 'k') =>
  api.post(`/v1/notes/${path}`, body, { 'Idempotency-Key': key });

function expectReplay(response: ApiResponse, first: ApiResponse): void {
  expect(first.headers).not.toHaveProperty('idempotent-replayed');
  expect([response.status, response.text]).toEqual([first.status, first.text]);
  expect(response.headers).toMatchObject({ 'idempotent-replayed': 'true' });
}

describe('POST to a route of a feature with @IdempotencyKey()', () => {
  it('201, and the stored response for a retry', async () => {
    const first = await post('create/created');
    expect(first.status).toBe(201);
    expectReplay(await post('create/created'), first);
  });

  it.each([{ text: 'other' }, { author: 'other' }])(
    '422 for the same key when any property of the DTO differs: %j',
    async (change) => {
      await post('create/created');
      expect(await post('create/created', { ...NOTE, ...change })).toMatchObject({
        status: 422,
        json: { code: 'idempotency_key_reused' },
      });
    },
  );

  it('422 for the same key and content in another operation', async () => {
    await post('create/created');
    expect((await post('create/nothing')).status).toBe(422);
  });

  it('201 without a body, also for a retry, when the work returns undefined', async () => {
    const first = await post('create/nothing');
    expect([first.status, first.text]).toEqual([201, '']);
    expectReplay(await post('create/nothing'), first);
  });

  it('204 for a retry of a 204', async () => {
    const first = await post('create-without-content/created');
    expect([first.status, first.text]).toEqual([204, '']);
    expectReplay(await post('create-without-content/created'), first);
  });

  it('409 of the work is not stored: a retry does the work again', async () => {
    const responses = [await post('create/conflict'), await post('create/conflict')];
    expect(responses.map(({ status }) => status).sort()).toEqual([201, 409]);
    const created = responses.find(({ status }) => status === 201);
    expect(created?.headers).not.toHaveProperty('idempotent-replayed');
  });

  it('500 that the log explains when the work returns what cannot be stored', async () => {
    expect((await post('create/page')).json).toMatchObject({ code: 'internal_error' });
    await service.waitForLog((line) =>
      JSON.stringify(line).includes('returned a Page, which cannot be stored'),
    );
  });

  it.each(['forget-once', 'change-result', 'use-other-key'])(
    '500 that the log explains when the handler would not be safe to retry: %s',
    async (path) => {
      expect(await post(`${path}/created`)).toMatchObject({
        status: 500,
        json: { code: 'internal_error' },
      });
      await service.waitForLog((line) =>
        JSON.stringify(line).includes(
          `POST /v1/notes/${path}/:work received an Idempotency-Key, and did not return the result of Idempotency.once`,
        ),
      );
    },
  );

  it('201 for such a handler when the request has no key', async () => {
    expect((await api.post('/v1/notes/forget-once/created', NOTE)).status).toBe(201);
  });
});
