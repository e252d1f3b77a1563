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
let description: Description;

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
  description = await Description.of(service);
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

describe('the interface description', () => {
  const NOTE = { $ref: '#/components/schemas/Note' };
  const schemaOf = (name: string, status: number) =>
    description.response(name, status).content?.['application/json']?.schema;

  test.each([
    ['POST /notes', 201, NOTE],
    ['GET /notes', 200, { type: 'array', items: NOTE }],
    ['GET /notes/{id}', 200, NOTE],
  ])('%s › %i with the schema of the type that the handler returns', (name, status, schema) => {
    expect(schemaOf(name, status)).toEqual(schema);
  });

  test('POST /notes › 201 as described, with and without an Idempotency-Key', async () => {
    for (const headers of [{}, { 'Idempotency-Key': 'a' }, { 'Idempotency-Key': 'a' }]) {
      const created = await client.post('/v1/notes', { text: 'Described' }, headers);
      description.expectAsDescribed('POST /notes', 201, created);
    }
  });

  test.each([
    ['GET /notes', () => client.get('/v1/notes?text=')],
    ['GET /notes/{id}', () => client.get('/v1/notes/1')],
    ['GET /notes/named/{name}', () => client.get('/v1/notes/named/%00')],
    ['POST /notes', () => client.post('/v1/notes', {}, { 'Idempotency-Key': '' })],
  ])('%s › 400 as described', async (name, respond) => {
    description.expectAsDescribed(name, 400, await respond());
  });

  test('POST /notes › 409 with every message of a code', () => {
    const examples = description.response('POST /notes', 409).content?.['application/json'];
    const messages = Object.values(examples?.examples ?? {}).map(
      ({ value }) => (value as { message: string }).message,
    );
    expect(messages.toSorted()).toEqual([
      'A note has this text.',
      'The day has too many notes.',
      expect.stringContaining('Idempotency-Key'),
      'The note is locked.',
      'The owner has too many notes.',
    ]);
  });

  test('the schemas have the lengths of the rules, also in mapped types and queries', () => {
    const { NewNote, NoteChanges } = description.document.components.schemas;
    const lengths = {
      text: { minLength: 1, maxLength: 200 },
      tags: { type: 'array', items: { minLength: 1, maxLength: 20 } },
      language: { minLength: 2, maxLength: 5 },
    };
    expect(NewNote).toMatchObject({ properties: lengths, required: ['text'] });
    expect(NoteChanges).toMatchObject({ properties: lengths });
    expect(description.operation('GET /notes').parameters).toContainEqual(
      expect.objectContaining({
        name: 'text',
        schema: expect.objectContaining({ minLength: 1, maxLength: 50 }) as object,
      }),
    );
  });
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
