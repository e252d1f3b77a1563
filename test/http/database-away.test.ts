import { ApiClient, send } from '../harness/client.js';
import { type TestDatabase, createDatabase } from '../harness/database.js';
import { DatabaseRelay } from '../harness/database-relay.js';
import { expectError } from '../harness/error-answer.js';
import { createKey, createOwner } from '../harness/factories.js';
import { startService, type TestService } from '../harness/service.js';

const ANSWERED_WITHIN_MS = 5_000;

let database: TestDatabase;
let relay: DatabaseRelay;
let service: TestService;
let client: ApiClient;
/** With a key that the service has not met. */
let stranger: ApiClient;

beforeAll(async () => {
  database = await createDatabase();
  relay = await DatabaseRelay.open(database.url);
  service = await startService({ database, env: { DATABASE_URL: relay.url } });
});
beforeEach(async () => {
  const owner = await createOwner(database);
  client = new ApiClient(service, owner.key);
  stranger = new ApiClient(service, (await createKey(database, owner.id)).key);
  await until(async () => (await client.get('/v1/pets')).status === 200);
});
afterEach(() => relay.restore());
afterAll(async () => {
  await service.close();
  await relay.cut();
  await database.close();
});

/** Resolves when the condition holds. @throws when that takes longer than any recovery may */
async function until(condition: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 10_000;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error('the service did not recover');
  }
}

describe.each([
  ['cut', () => relay.cut()],
  ['stalled', () => relay.stall()],
])('while the connection to the database is %s', (_title, interrupt) => {
  test('every operation is 503 with Retry-After within 5 seconds, and then serves again by itself', async () => {
    await interrupt();
    const startedAt = performance.now();
    const answers = await Promise.all([
      client.get('/v1/pets'),
      client.get('/v1/pets?status=sold'),
      client.get('/v1/pets/1'),
      client.post('/v1/pets', { name: 'Frank', categoryId: 1 }),
      client.post('/v1/pets', { name: 'Frank', categoryId: 1 }, { 'Idempotency-Key': 'a' }),
    ]);
    expect(performance.now() - startedAt).toBeLessThan(ANSWERED_WITHIN_MS);
    for (const answer of answers) {
      expectError(answer, 503, 'service_unavailable');
      expect(answer.headers['retry-after']).toMatch(/^[1-9]\d*$/);
    }

    await relay.restore();
    await until(async () => (await client.get('/v1/pets')).status === 200);
    await until(async () => (await send(service, '/health/ready')).status === 200);
  });

  test('a key that is not known is 503, and shows the budget of its address', async () => {
    await interrupt();
    const startedAt = performance.now();
    const answer = await stranger.get('/v1/pets');
    expect(performance.now() - startedAt).toBeLessThan(ANSWERED_WITHIN_MS);
    expectError(answer, 503, 'service_unavailable');
    expect(answer.headers['x-ratelimit-limit']).toBe('300');
    expect(answer.headers['retry-after']).toMatch(/^[1-9]\d*$/);
  });

  test('what needs no database is answered: 401, 404, 405, liveness', async () => {
    await interrupt();
    expectError(await send(service, '/v1/pets'), 401, 'missing_api_key');
    expectError(await client.get('/v1/nope'), 404, 'route_not_found');
    expectError(await client.send('/v1/pets', { method: 'PUT' }), 405, 'method_not_allowed');
    expect((await send(service, '/health/live')).status).toBe(200);
  });

  test('the service is not ready, and however many ask, one question goes to the database', async () => {
    await interrupt();
    const { accepted } = relay;
    const startedAt = performance.now();
    const answers = await Promise.all(
      Array.from({ length: 100 }, () => send(service, '/health/ready')),
    );
    expect(performance.now() - startedAt).toBeLessThan(ANSWERED_WITHIN_MS);
    expect(relay.accepted - accepted).toBeLessThan(3);
    for (const { status, json } of answers) {
      expect([status, json.status, json.checks.database]).toEqual([503, 'unavailable', 'down']);
    }
  });
});
