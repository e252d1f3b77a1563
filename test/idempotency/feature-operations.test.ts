/* eslint-disable @typescript-eslint/no-empty-function -- only the decorators of these handlers matter */
import 'reflect-metadata';
import { Controller, Get, Next, Post, Res } from '@nestjs/common';
import { idempotencyProblems } from '../../src/platform/idempotency/idempotent-route-check.js';
import { IdempotencyKey } from '../../src/platform/idempotency/idempotency-key.decorator.js';
import { Idempotent } from '../../src/platform/idempotency/idempotent.decorator.js';
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

describe('POST to an @Idempotent() route of a feature', () => {
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

  it('201 with one warning when the work writes nothing in its transaction, as with another manager', async () => {
    const isWarning = ({ msg, operation }: Record<string, unknown>): boolean =>
      String(msg).includes('wrote nothing in its transaction') && operation === 'note silent';
    for (const key of ['1', '2']) await post('create/silent', NOTE, key);
    expect(await store.service.waitForLog(isWarning)).toMatchObject({ level: 40 });
    expect(store.service.logs().filter(isWarning)).toHaveLength(1);
  });

  it('201 without a warning when the work writes in its transaction', async () => {
    expect(
      (await api.post('/v1/pets', { name: 'a', categoryId: 1 }, { 'Idempotency-Key': 'p' })).status,
    ).toBe(201);
    expect(store.service.output()).not.toContain('createPet');
  });

  it.each(['forget-once', 'change-result', 'use-other-key'])(
    '500 that the log explains when the handler would not be safe to retry: %s',
    async (path) => {
      expectError(await post(`${path}/created`), 500, 'internal_error');
      const handler = path.replace(/-(.)/g, (_match, letter: string) => letter.toUpperCase());
      await store.service.waitForLog((line) =>
        JSON.stringify(line).includes(
          `NotesController.${handler} received an Idempotency-Key, and did not return the result of Idempotency.once`,
        ),
      );
    },
  );

  it('201 for such a handler when the request has no key', async () => {
    expect((await api.post('/v1/notes/forget-once/created', NOTE)).status).toBe(201);
  });
});

@Controller()
class Handlers {
  @Post()
  @Idempotent()
  right(@IdempotencyKey() _key?: string): void {}

  @Post()
  @Idempotent()
  rightWithResponse(
    @IdempotencyKey() _key: string | undefined,
    @Res({ passthrough: true }) _response: unknown,
  ): void {}

  @Post()
  plain(@Res() _response: unknown): void {}

  @Post()
  @Idempotent()
  noKey(): void {}

  @Post()
  keyOnly(@IdempotencyKey() _key?: string): void {}

  @Get()
  @Idempotent()
  read(@IdempotencyKey() _key?: string): void {}

  @Post()
  @Idempotent()
  sends(@IdempotencyKey() _key: string | undefined, @Res() _response: unknown): void {}

  @Post()
  @Idempotent()
  next(@IdempotencyKey() _key: string | undefined, @Next() _next: unknown): void {}
}

describe('the start', () => {
  const problems = (name: keyof Handlers): string[] => {
    const { [name]: method } = Handlers.prototype as Record<keyof Handlers, object>;
    return idempotencyProblems({ controller: Handlers, name, method });
  };

  it.each(['right', 'rightWithResponse', 'plain'] as const)('succeeds: %s', (name) => {
    expect(problems(name)).toEqual([]);
  });

  it.each([
    ['noKey', /@Idempotent\(\) requires a parameter @IdempotencyKey\(\)/],
    ['keyOnly', /@IdempotencyKey\(\) requires @Idempotent\(\)/],
    ['read', /is not for GET/],
    ['sends', /excludes @Res\(\) and @Next\(\)/],
    ['next', /excludes @Res\(\) and @Next\(\)/],
  ] as const)('fails: %s', (name, message) => {
    expect(problems(name)).toEqual([expect.stringMatching(message)]);
    expect(problems(name)[0]).toContain(`Handlers.${name}: `);
  });
});
