import { once } from 'node:events';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createDatabase, type TestDatabase } from '../harness/database/database.js';
import { createOwner } from '../harness/database/factories.js';
import { expectDeclaredSchema } from '../harness/database/schema.js';
import { compileExample, type Example } from '../harness/features/examples.js';
import { ApiClient, type ApiResponse, send } from '../harness/http/client.js';
import { Description } from '../harness/http/description.js';
import { expectError, expectRateLimitHeaders } from '../harness/http/error-response.js';
import { spawnBuiltService, startService, type TestService } from '../harness/service/service.js';

const HARNESS = join(__dirname, '../harness');
const ADD_FEATURES = pathToFileURL(join(HARNESS, 'service/add-features.mjs')).href;

// A feature in TypeScript, compiled by the build, whose controller has no decorator for a response.

let example: Example;
let database: TestDatabase;
let service: TestService;
let key: string;
let client: ApiClient;

beforeAll(async () => {
  example = await compileExample('notes', 'test/harness/features');
  database = await createDatabase();
  await database.query(`
    CREATE TABLE notes (
      id         uuid           DEFAULT gen_random_uuid() CONSTRAINT notes_pkey PRIMARY KEY,
      share_id   uuid           NOT NULL DEFAULT gen_random_uuid(),
      text       text           NOT NULL,
      labels     jsonb,
      created_at timestamptz(3) NOT NULL DEFAULT now()
    )`);
  service = await startService({ database, onlyPublished: true, features: example.modules });
  ({ key } = await createOwner(database));
  client = new ApiClient(service, key);
}, 120_000);
afterAll(async () => {
  await service.close();
  await database.close();
});

const patch = (path: string, changes: object): Promise<ApiResponse> =>
  client.send(path, {
    method: 'PATCH',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(changes),
  });

test('the interface description has the lengths of the rules, also in mapped types and queries', async () => {
  const description = await Description.of(service);
  const { NewNote, NoteChanges } = description.document.components.schemas;
  const text = { type: 'string', minLength: 1, maxLength: 200 };
  expect(NewNote).toMatchObject({ properties: { text }, required: ['text'] });
  expect(NoteChanges).toMatchObject({ properties: { text } });
  expect(description.operation('GET /notes').parameters).toContainEqual(
    expect.objectContaining({
      name: 'text',
      schema: expect.objectContaining({ minLength: 1, maxLength: 50 }) as object,
    }),
  );
});

describe('the data', () => {
  const add = async (note: object): Promise<ApiResponse> => client.post('/v1/notes', note);

  test('POST and GET /v1/notes › the same uuid and the same time in milliseconds', async () => {
    const { status, json } = await add({ text: 'Same' });
    expect([status, json.id]).toEqual([201, expect.stringMatching(/^[0-9a-f-]{36}$/)]);
    expect((await client.get(`/v1/notes/${json.id}`)).json).toEqual(json);
  });

  test.each([['{"a":"\\ud800"}'], ['{"\\udc00":1}'], ['{"a":["\\\\\\ud800"]}']])(
    'POST /v1/notes › 400 for a lone surrogate in jsonb: %s',
    async (labels) => {
      const { status, json } = await client.post('/v1/notes', `{"text":"a","labels":${labels}}`);
      expect([status, json.code]).toEqual([400, 'invalid_request']);
      expect(json.message).toContain('a lone surrogate');
    },
  );

  test('POST /v1/notes › 201 with pairs of surrogates and escaped backslashes in jsonb', async () => {
    const labels = { cat: '🐈', text: '\\ud800' };
    const { status, json } = await add({ text: 'Pairs', labels });
    expect([status, json.labels]).toEqual([201, labels]);
  });

  test('PATCH /v1/notes/{id} › 400 for null in a member that PartialType made optional', async () => {
    const { json } = await add({ text: 'Before', labels: { a: 1 } });
    for (const path of [`/v1/notes/${json.id}`, `/v1/notes/${json.id}/text`]) {
      const rejected = await patch(path, { text: null });
      expect([rejected.status, rejected.json.message]).toEqual([
        400,
        expect.stringMatching(/^text must be a string/),
      ]);
    }
    const changed = await patch(`/v1/notes/${json.id}`, { labels: null });
    expect(changed.json).toEqual({ ...json, labels: null });
  });

  test('the schema equals the entities, with gen_random_uuid() and a precision', () =>
    expectDeclaredSchema(database, example.folder));

  test('the start fails for a column that TypeORM treats otherwise than declared, and names it', async () => {
    const lines = ['id', 'ownerId', 'price'].map(
      (name) =>
        `Toy.${name}: an int8 column is a bigint. Declare the property as bigint, and a generated id with @PrimaryGeneratedColumn('identity', { type: 'bigint' }).`,
    );
    // A process of its own, because TypeORM keeps all entities of a process.
    const features = pathToFileURL(join(HARNESS, 'features/wrong-columns.mjs')).href;
    const command = [process.execPath, '--import', ADD_FEATURES];
    const env = { DATABASE_URL: database.url, TEST_FEATURES: features };
    const failing = spawnBuiltService(env, undefined, command);
    const [code] = (await once(failing.process, 'close')) as [number];
    expect([code, failing.output()]).toEqual([1, expect.stringContaining(lines.join('\n'))]);
  });
});

describe('authentication of its own, and a provider of the request', () => {
  const list = (authorization: string) =>
    send(service, '/v1/drafts', { headers: { Authorization: authorization } });

  test('GET /v1/drafts › 200 with a session, counted for the address', async () => {
    const response = await list('Bearer session-1');
    expect([response.status, response.json]).toEqual([200, { author: 'Ada' }]);
    expectRateLimitHeaders(response);
  });

  test('GET /v1/drafts › 401 unauthorized with the message of the guard', async () => {
    expectError(await list('Bearer session-2'), 401, 'unauthorized');
    expect((await list(`Bearer ${key}`)).json.message).toBe('Log in first.');
  });
});
