import { createDatabase } from '../harness/database/database.js';
import { send } from '../harness/http/client.js';
import { startService, type TestService } from '../harness/service/service.js';

let service: TestService;

beforeAll(async () => {
  service = await startService({ env: { ANONYMOUS_REQUESTS_PER_MINUTE: '1' } });
});
afterAll(() => service.close());

test.each(['/health/live', '/health/ready'])(
  'GET %s › 200 without an API key and without a rate limit',
  async (path) => {
    for (let count = 0; count < 5; count++) {
      const response = await send(service, path);
      expect([response.status, response.json.status]).toEqual([200, 'ok']);
      expect(response.headers).toMatchObject({
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
      });
      expect(Object.keys(response.headers).filter((name) => name.includes('ratelimit'))).toEqual(
        [],
      );
    }
  },
);

test('GET /health/ready › 200 with the result of each check', async () => {
  const { json } = await send(service, '/health/ready');
  expect(json.checks).toMatchObject({ database: 'up', shutdown: 'no' });
  expect(json.checks).not.toHaveProperty('redis');
});

test('GET /health/ready › 200 and "degraded" while the database accepts no writes', async () => {
  const database = await createDatabase();
  await database.query(`ALTER DATABASE "${database.name}" SET default_transaction_read_only = on`);
  const readOnly = await startService({ database });
  try {
    const { status, json } = await send(readOnly, '/health/ready');
    expect({ status, json }).toMatchObject({
      status: 200,
      json: { status: 'degraded', checks: { database: 'read-only' } },
    });
  } finally {
    await readOnly.close();
    await database.close();
  }
});

test('GET / › 302 to /docs', async () => {
  const response = await send(service, '/');
  expect(response.status).toBe(302);
  expect(response.headers.location).toBe('/docs');
});
