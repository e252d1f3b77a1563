import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { createDatabase, type TestDatabase } from '../../harness/database/database.js';
import { createOwner, createPets } from '../../harness/database/factories.js';
import { ApiClient, type ApiResponse, send } from '../../harness/http/client.js';
import { featureFile } from '../../harness/http/store.js';
import { describeWithRedis, type RedisServer, startRedis } from '../../harness/processes/redis.js';
import { type BuiltService, startBuiltService } from '../../harness/service/service.js';

const ROOT = join(__dirname, '../../..');
const HARNESS = join(ROOT, 'test/harness');
/** The hash of a statement in base64url, by which the server knows it. */
const HASH = /[\w-]{27}/;
const UNTRUSTED_ADDRESS = '203.0.113.7';
const POLL_MS = 20;

interface Span {
  name: string;
  traceId: string;
  spanId: string;
  parentId?: string;
  attributes: Record<string, unknown>;
}

/** A request of a caller that traces, and the response. */
interface TracedRequest extends ApiResponse {
  traceId: string;
}

const url = (path: string): string => pathToFileURL(join(HARNESS, path)).href;

describeWithRedis('with OpenTelemetry, registered as docs/tracing.md shows', () => {
  let database: TestDatabase;
  let redis: RedisServer;
  let folder: string;
  let service: BuiltService;
  let client: ApiClient;
  let spans: Span[];

  let lists: TracedRequest[];
  let gets: TracedRequest[];
  let create: TracedRequest;
  let order: TracedRequest;
  let unauthenticated: TracedRequest;
  let untraced: ApiResponse;
  let code: number | null;

  beforeAll(async () => {
    database = await createDatabase();
    await database.query(
      'CREATE TABLE handled (order_id text, attempt int); CREATE TABLE audited (order_id text)',
    );
    redis = await startRedis();
    const { key } = await createOwner(database);
    const ids = await createPets(database, 20);
    mkdirSync(join(ROOT, 'reports'), { recursive: true });
    // In the project, so that Node finds the packages.
    folder = mkdtempSync(join(ROOT, 'reports', 'tracing-'));
    writeFileSync(join(folder, 'tracing.mjs'), registration());
    const options = [
      pathToFileURL(join(folder, 'tracing.mjs')).href,
      url('service/add-features.mjs'),
    ];
    const env = {
      DATABASE_URL: database.url,
      REDIS_URL: redis.url,
      TRUST_PROXY: '1',
      TEST_FEATURES: pathToFileURL(featureFile('events')).href,
      TEST_SPANS: join(folder, 'spans'),
      TEST_HANDLER_TIMEOUT_MS: '30000',
    };
    const command = [process.execPath, ...options.flatMap((option) => ['--import', option])];
    service = await startBuiltService(env, undefined, command);
    client = new ApiClient(service, key);

    await client.get('/v1/pets');
    lists = await Promise.all(Array.from({ length: 40 }, () => traced('/v1/pets?limit=3')));
    gets = await Promise.all(ids.map((id) => traced(`/v1/pets/${id}`)));
    create = await traced('/v1/pets', { name: 'Unmentioned', categoryId: 1 });
    order = await traced('/v1/orders', { id: 'order-1', mode: 'ok' });
    unauthenticated = await traced('/v1/pets', undefined, {
      Authorization: '',
      'X-Forwarded-For': UNTRUSTED_ADDRESS,
    });
    untraced = await client.get('/v1/pets');
    await untilHandled();
    await send(service, '/health/ready');
    code = await service.stop();
    const lines = readFileSync(join(folder, 'spans'), 'utf8').trim().split('\n');
    spans = lines.map((line) => JSON.parse(line) as Span);
  }, 120_000);

  afterAll(async () => {
    await redis.close();
    await database.close();
    rmSync(folder, { recursive: true });
  });

  /** Sends a request in a trace of its own. */
  async function traced(
    path: string,
    body?: object,
    headers: Record<string, string> = {},
  ): Promise<TracedRequest> {
    const traceId = randomBytes(16).toString('hex');
    const all = { traceparent: `00-${traceId}-${'c'.repeat(16)}-01`, ...headers };
    const response = body ? await client.post(path, body, all) : await client.get(path, all);
    return { ...response, traceId };
  }

  async function untilHandled(): Promise<void> {
    const done = 'SELECT FROM handled JOIN audited USING (order_id)';
    while ((await database.query(done)).length === 0) await delay(POLL_MS);
    while ((await database.query('SELECT FROM outbox_events')).length > 0) await delay(POLL_MS);
  }

  /** Returns the path of each span of a trace, by names from the request on. */
  function pathsOf(traceId: string): string[] {
    const inTrace = spans.filter((span) => span.traceId === traceId);
    const pathOf = ({ name, parentId }: Span): string => {
      if (parentId === undefined || parentId === 'c'.repeat(16)) return name;
      const parent = inTrace.find(({ spanId }) => spanId === parentId);
      return `${parent ? pathOf(parent) : 'unknown'} > ${name}`;
    };
    // A cached API key is refreshed every two seconds.
    return inTrace
      .filter(({ attributes }) => !String(attributes['db.query.text']).includes('api_keys'))
      .map(pathOf)
      .sort();
  }

  /** The paths of a request that reads animals. */
  function readPaths(request: string, handler: string): string[] {
    const nest = `${request} > request handler > PetsController.${handler}`;
    const steps = [`${nest} > ${handler}`, `${nest} > ${handler} > SELECT`];
    return [request, `${request} > request handler`, nest, ...steps];
  }

  test('GET /v1/pets › 40 connections at once: each is one trace, with its own statement', () => {
    expect(lists.map(({ status }) => status)).toEqual(Array(40).fill(200));
    const expected = readPaths('GET /v1/pets', 'listPets');
    for (const { traceId } of lists) expect(pathsOf(traceId)).toEqual(expected);
  });

  test('GET /v1/pets/{petId} › 20 at once: each is one trace, with its own statement', () => {
    expect(gets.map(({ status }) => status)).toEqual(Array(20).fill(200));
    const expected = readPaths('GET /v1/pets/:petId', 'getPet');
    for (const { traceId } of gets) expect(pathsOf(traceId)).toEqual(expected);
  });

  test('POST /v1/pets › one trace with the statements of the transaction, and none of the values', () => {
    expect(create.status).toBe(201);
    const paths = pathsOf(create.traceId);
    expect(paths.filter((path) => path.includes('unknown'))).toEqual([]);
    const handler = 'POST /v1/pets > request handler > PetsController.createPet > createPet';
    expect(paths).toContain(`${handler} > INSERT`);
    expect(JSON.stringify(spans)).not.toContain('Unmentioned');
  });

  test('GET /v1/pets › 401: only the HTTP span has the address of the client', () => {
    expect(unauthenticated.status).toBe(401);
    const withAddress = spans.filter((span) => JSON.stringify(span).includes(UNTRUSTED_ADDRESS));
    expect(withAddress.map(({ name }) => name)).toEqual(['GET /v1/pets']);
  });

  test('no span has the hash of a statement or an API key in it, and every name is readable', () => {
    expect(spans.map(({ name }) => name).filter((name) => HASH.test(name))).toEqual([]);
    expect(JSON.stringify(spans)).not.toContain('aas_');
  });

  test('the log line of a request has the id of its trace, also of one that starts here', () => {
    const lineOf = (response: ApiResponse) =>
      service.logs().find(({ requestId }) => requestId === response.headers['x-request-id']);
    expect(lineOf(create)?.['traceId']).toBe(create.traceId);
    const own = String(lineOf(untraced)?.['traceId']);
    expect(pathsOf(own)).toEqual(readPaths('GET /v1/pets', 'listPets'));
  });

  test('statements outside of a request have no span, and SIGTERM exports the last spans', () => {
    expect(code).toBe(0);
    const known = [...lists, ...gets, create, order, unauthenticated].map(({ traceId }) => traceId);
    const others = spans.filter(({ traceId }) => !known.includes(traceId));
    const roots = others
      .filter(({ parentId }) => parentId === undefined)
      .map(({ name }) => name)
      .filter((name) => name !== 'pg.connect');
    expect(roots.sort()).toEqual(['Create Nest App', 'GET /v1/pets', 'GET /v1/pets']);
  });
});

/** Returns the file of the page, with an SDK that writes the spans to a file. */
function registration(): string {
  const page = readFileSync(join(ROOT, 'docs/tracing.md'), 'utf8');
  const [, file = ''] = /^```js\n(.*?)^```$/ms.exec(page) ?? [];
  expect(file).toContain("'@opentelemetry/sdk-node'");
  return file.replace('@opentelemetry/sdk-node', url('service/node-sdk.mjs'));
}
