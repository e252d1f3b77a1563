import { join } from 'node:path';
import { send } from '../harness/http/client.js';
import { START_MS, startService, type TestService } from '../harness/service/service.js';

let service: TestService;

beforeAll(async () => {
  service = await startService({
    env: { DATABASE_POOL_SIZE: '3' },
    features: join(__dirname, '../harness/features/toy-sales.mjs'),
  });
});
afterAll(() => service.close());

test('GET /v1/toys › 200 with the links to the next page and to the successor of a deprecated list', async () => {
  const { status, headers } = await send(service, '/v1/toys');
  expect(status).toBe(200);
  expect(headers.link).toBe(
    `<${service.url}/v2/toys>; rel="successor-version", <${service.url}/v1/toys?cursor=2>; rel="next"`,
  );
});

test('GET /v1/toys › 304 when the caller already has the page', async () => {
  const { headers } = await send(service, '/v1/toys');
  const known = { 'If-None-Match': String(headers.etag) };
  expect((await send(service, '/v1/toys', { headers: known })).status).toBe(304);
});

test('GET /v1/toys/environment › 200 with the clock and the settings, which a feature injects', async () => {
  const { json } = await send(service, '/v1/toys/environment');
  expect(json).toEqual({ now: START_MS, poolSize: 3 });
});

test('GET /v1/toys/{toy}/sale › 200 and each log line of the feature has the id of its request', async () => {
  const traceId = '0af7651916cd43dd8448eb211c80319c';
  const toys = Array.from({ length: 40 }, (_, index) => index);
  const sales = () => service.logs().filter(({ msg }) => msg === 'sold');
  await Promise.all(
    toys.map(async (toy) => {
      const headers = {
        'X-Request-Id': `sale-${toy}`,
        ...(toy % 2 === 0 && { traceparent: `00-${traceId}-b7ad6b7169203331-01` }),
      };
      expect((await send(service, `/v1/toys/${toy}/sale`, { headers })).status).toBe(200);
    }),
  );
  await service.waitForLog(() => sales().length === toys.length);
  expect(
    sales()
      .map(({ requestId }) => requestId)
      .sort(),
  ).toEqual(toys.map((toy) => `sale-${toy}`).sort());
  const lines = service.logs().filter(({ context }) => context === 'ToysService');
  for (const toy of toys) {
    const ofToy = lines.filter((line) => line['toy'] === toy);
    expect(ofToy.map(({ step }) => step)).toEqual(['start', 'statement', 'transaction']);
    for (const line of ofToy) {
      expect(line).toMatchObject({ requestId: `sale-${toy}` });
      expect(line['traceId']).toBe(toy % 2 === 0 ? traceId : undefined);
    }
  }
});

test('a background job of a feature runs again after an error, without the id of a request', async () => {
  const failed = service.waitForLog(({ msg }) => msg === 'background job failed');
  expect(await failed).toMatchObject({ context: 'ToyStock', err: { message: 'no toys' } });
  const runs = () => service.logs().filter(({ msg }) => msg === 'counted');
  const before = runs().length;
  await service.waitForLog(({ msg }) => msg === 'counted' && runs().length > before);
  for (const run of runs()) expect(run).toMatchObject({ pets: 0, isStopping: false });
  for (const run of runs()) expect(run).not.toHaveProperty('requestId');
});

test('GET /v1/context › the service does not track requests for logs if no feature has a Logger', async () => {
  const features = join(__dirname, '../harness/features/without-logger.mjs');
  const untracked = await startService({ onlyPublished: true, features });
  try {
    expect((await send(untracked, '/v1/context')).json).toEqual({ tracked: false });
  } finally {
    await untracked.close();
  }
});
