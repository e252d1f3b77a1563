import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { PRODUCT } from '../../../src/product.js';
import { createDatabase, type TestDatabase } from '../../harness/database/database.js';
import { createOwner, createItems } from '../../harness/database/factories.js';
import { ApiClient, type ApiResponse, send } from '../../harness/http/client.js';
import { NODE } from '../../harness/processes/node.js';
import { describeWithRedis, type RedisServer, startRedis } from '../../harness/processes/redis.js';
import { type BuiltService, startBuiltService } from '../../harness/service/service.js';

const ROOT = join(__dirname, '../../..');
const HARNESS = join(ROOT, 'test/harness');
/** The hash of a statement in base64url, by which the server knows it. */
const HASH = /[\w-]{27}/;
const UNTRUSTED_ADDRESS = '203.0.113.7';

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
  let create: TracedRequest;
  let late: TracedRequest;
  let unauthenticated: TracedRequest;
  let untraced: ApiResponse;

  beforeAll(async () => {
    database = await createDatabase();
    redis = await startRedis();
    const { key } = await createOwner(database);
    await createItems(database, 20);
    mkdirSync(join(ROOT, 'reports'), { recursive: true });
    // In the project, so that Node finds the packages.
    folder = mkdtempSync(join(ROOT, 'reports', 'tracing-'));
    writeFileSync(join(folder, 'tracing.mjs'), registration());
    const registered = pathToFileURL(join(folder, 'tracing.mjs')).href;
    const env = {
      DATABASE_URL: database.url,
      REDIS_URL: redis.url,
      TRUST_PROXY: '1',
      TEST_SPANS: join(folder, 'spans'),
      SHUTDOWN_DELAY_SECONDS: '6',
    };
    const command = [...NODE, '--import', registered];
    service = await startBuiltService(env, undefined, command);
    client = new ApiClient(service, key);

    await client.get('/v1/items');
    lists = await Promise.all(Array.from({ length: 40 }, () => traced('/v1/items?limit=3')));
    create = await traced('/v1/items', { name: 'Unmentioned', categoryId: 1 });
    unauthenticated = await traced('/v1/items', undefined, {
      Authorization: '',
      'X-Forwarded-For': UNTRUSTED_ADDRESS,
    });
    untraced = await client.get('/v1/items');
    await send(service, '/health/ready');
    const ended = once(service.process, 'exit');
    service.process.kill('SIGTERM');
    await service.waitForLog(({ msg }) => msg === 'stopping');
    late = await traced('/v1/items?limit=3');
    await ended;
    const lines = readFileSync(join(folder, 'spans'), 'utf8').trim().split('\n');
    spans = lines.map((line) => JSON.parse(line) as Span);
  });

  afterAll(async () => {
    await redis.close();
    await database.close();
    rmSync(folder, { recursive: true });
  });

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

  const LIST_PATHS = [
    'GET /v1/items',
    'GET /v1/items > request handler',
    'GET /v1/items > request handler > SELECT',
  ];

  test('GET /v1/items › 40 connections at once: each is one trace, with its own statement', () => {
    expect(lists.map(({ status }) => status)).toEqual(Array(40).fill(200));
    for (const { traceId } of lists) expect(pathsOf(traceId)).toEqual(LIST_PATHS);
  });

  test('GET /v1/items › also during SHUTDOWN_DELAY_SECONDS', () => {
    expect([late.status, pathsOf(late.traceId)]).toEqual([200, LIST_PATHS]);
  });

  test('POST /v1/items › one trace with the statements of the transaction, and none of the values', () => {
    expect(create.status).toBe(201);
    const paths = pathsOf(create.traceId);
    expect(paths.filter((path) => path.includes('unknown'))).toEqual([]);
    expect(paths).toContain('POST /v1/items > request handler > INSERT');
    expect(JSON.stringify(spans)).not.toContain('Unmentioned');
  });

  test('GET /v1/items › 401: only the HTTP span has the address of the client', () => {
    expect(unauthenticated.status).toBe(401);
    const withAddress = spans.filter((span) => JSON.stringify(span).includes(UNTRUSTED_ADDRESS));
    expect(withAddress.map(({ name }) => name)).toEqual(['GET /v1/items']);
  });

  test('no span has the hash of a statement or an API key in it, and every name is readable', () => {
    expect(spans.map(({ name }) => name).filter((name) => HASH.test(name))).toEqual([]);
    expect(JSON.stringify(spans)).not.toContain(PRODUCT.keyPrefix);
  });

  test('the log line of a request has the id of its trace, also of one that starts here', () => {
    const lineOf = (response: ApiResponse) =>
      service.logs().find(({ requestId }) => requestId === response.headers['x-request-id']);
    expect(lineOf(create)?.['traceId']).toBe(create.traceId);
    const own = String(lineOf(untraced)?.['traceId']);
    expect(pathsOf(own)).toEqual(LIST_PATHS);
  });
});

/** Returns the file of the page, with an SDK that writes the spans to a file. */
function registration(): string {
  const page = readFileSync(join(ROOT, 'docs/tracing.md'), 'utf8');
  const [, file = ''] = /^```js\n(.*?)^```$/ms.exec(page) ?? [];
  expect(file).toContain("'@opentelemetry/sdk-node'");
  return file.replace('@opentelemetry/sdk-node', url('service/node-sdk.mjs'));
}
