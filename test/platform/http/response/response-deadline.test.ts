import { holdTable } from '../../../harness/database/database-lock.js';
import { createOwner } from '../../../harness/database/factories.js';
import { ApiClient } from '../../../harness/http/client.js';
import { untilMetric } from '../../../harness/service/metrics.js';
import { setTimeout as delay } from 'node:timers/promises';
import { expectError } from '../../../harness/http/error-response.js';
import { RawConnection, requestHead } from '../../../harness/http/raw-connection.js';
import { useStore } from '../../../harness/http/store.js';
import { until } from '../../../harness/run/until.js';

/** The response deadline is their sum and half a second. A busy machine stays below them. */
const env = { DATABASE_POOL_WAIT_SECONDS: '1.5', DATABASE_STATEMENT_TIMEOUT_SECONDS: '1.5' };
const DEADLINE_MS = 3_500;
const store = useStore({ features: 'slow', env });

const UNAVAILABLE = 'The service is unavailable at the moment. Try again later.';
const LATE = 'The service did not respond in time. Try again later.';

test.concurrent.each([
  ['never', 'a handler that waits for something', LATE],
  ['forgotten', 'a handler that does not use its @Res()', LATE],
  ['upstream', 'a connection to another service that breaks', UNAVAILABLE],
  ['payments', 'an exception of the feature', UNAVAILABLE],
])('GET /v1/slow/%s › 503 that does not name the database: %s', async (name, _what, message) => {
  const response = await store.api.get(`/v1/slow/${name}`);
  expect(expectError(response, 503, 'service_unavailable')).toBe(message);
  expect(response.headers['retry-after']).toBe('2');
});

test.concurrent('POST /v1/items › 201 when the body arrives later than the deadline', async () => {
  const body = '{"name":"Frank","categoryId":1}';
  const headers = ['Content-Type: application/json', `Content-Length: ${body.length}`];
  const head = requestHead('POST /v1/items', store.owner.key, ...headers);
  const connection = await RawConnection.open(store.service, head);
  await delay(DEADLINE_MS + 200);
  expect((await connection.write(body).response()).status).toBe(201);
  connection.close();
});

test.concurrent('a file that the handler returns after the deadline is closed', async () => {
  expectError(await store.api.get('/v1/slow/late-file'), 503, 'service_unavailable');
  await until(async () => {
    const { text } = await store.api.get('/v1/slow/late-file/destroyed');
    return text === '{"isDestroyed":true}';
  });
});

test.concurrent('the log says that the handler has sent no response', async () => {
  const id = 'forgotten';
  await store.api.get('/v1/slow/forgotten', { 'X-Request-Id': id });
  const line = await store.service.waitForLog(({ requestId }) => requestId === id);
  expect(JSON.stringify(line)).toContain('response deadline: the handler has sent no response');
});

test('the response deadline counts from the arrival of the request, also while its API key is looked up', async () => {
  const late = new ApiClient(store.service, (await createOwner(store.database)).key);
  await store.api.get('/v1/nothing');
  const order: string[] = [];
  const send = async (name: string, client: ApiClient) => {
    expectError(await client.get('/v1/slow/never'), 503, 'service_unavailable');
    order.push(name);
  };
  const lock = await holdTable(store.database, 'api_keys', 'ACCESS EXCLUSIVE');
  const first = send('first', late);
  await lock.waitedFor();
  const second = send('second', store.api);
  await untilMetric(store.service, 'requests_in_progress', (count) => count === 2);
  await lock.release();
  await Promise.all([first, second]);
  expect(order).toEqual(['first', 'second']);
});
