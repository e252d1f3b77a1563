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
