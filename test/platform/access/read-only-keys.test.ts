import { createKey } from '../../harness/database/factories.js';
import { ApiClient, type RequestOptions } from '../../harness/http/client.js';
import { CHALLENGE, expectError } from '../../harness/http/error-response.js';
import { RawConnection, requestHead } from '../../harness/http/raw-connection.js';
import { useStore } from '../../harness/http/store.js';
import { limitsOf, SECOND_MS } from '../../harness/rate-limit/limits.js';
import { metric } from '../../harness/service/metrics.js';

const store = useStore({ features: ['probes', 'routes'] });
const ITEM = JSON.stringify({ name: 'Frank', categoryId: 1 });
const JSON_TYPE = { 'Content-Type': 'application/json' };
/** It fails all later checks. */
const WRONG = { method: 'POST', headers: { 'Idempotency-Key': 'not one' }, body: 'x' };
const FORBIDDEN = 'read_only_api_key';

let key: string;
let api: ApiClient;

beforeAll(async () => {
  ({ key } = await createKey(store.database, store.owner.id, { access: 'read' }));
  api = new ApiClient(store.service, key);
});

test.each<[status: number, path: string, options: RequestOptions, code: string]>([
  [200, '/v1/items', {}, ''],
  [200, '/v1/items', { method: 'HEAD' }, ''],
  [204, '/v1/items', { method: 'OPTIONS' }, ''],
  [200, '/mounted', {}, ''],
  [404, '/v1/nope', WRONG, 'route_not_found'],
  [405, '/v1/items', { ...WRONG, method: 'DELETE' }, 'method_not_allowed'],
  [403, '/v1/items', WRONG, FORBIDDEN],
  [403, '/v1/items', { method: 'POST', headers: JSON_TYPE, body: ITEM }, FORBIDDEN],
  [403, '/v1/probes/1', { method: 'DELETE' }, FORBIDDEN],
  [403, '/mounted', WRONG, FORBIDDEN],
  [403, '/mounted/deeper', { method: 'DELETE' }, FORBIDDEN],
])('%i %s %j, and the request is counted', async (status, path, options, code) => {
  const before = limitsOf(await api.get('/v1/nope')).remaining;
  const response = await api.send(path, options);
  expect(response.status).toBe(status);
  if (code !== '') expectError(response, status, code);
  const challenge = `${CHALLENGE}, error="insufficient_scope"`;
  expect(response.headers['www-authenticate']).toBe(status === 403 ? challenge : undefined);
  expect(limitsOf(response).remaining).toBe(before - 1);
  expect((await store.api.get('/v1/items')).json).toEqual([]);
});

test('403 POST /v1/items › the service reads no body and sends no 100 Continue', async () => {
  const headers = ['Content-Type: application/json', 'Content-Length: 50', 'Expect: 100-continue'];
  const head = requestHead('POST /v1/items', key, ...headers);
  expect((await RawConnection.exchange(store.service, head)).status).toBe(403);
});

test('the log line and the metrics have the 403', async () => {
  const id = 'read-only-1';
  const series =
    'http_server_request_duration_seconds_count{http_request_method="POST",http_route="/v1/items",http_response_status_code="403"}';
  await api.post('/v1/items', ITEM, { 'X-Request-Id': id });
  const line = await store.service.waitForLog(({ requestId }) => requestId === id);
  expect(line).toMatchObject({ status: 403, code: FORBIDDEN });
  expect(await metric(store.service, series)).toBeGreaterThan(0);
});

test('a change of the access takes effect within five seconds', async () => {
  const { key: other, keyId } = await createKey(store.database, store.owner.id);
  const create = async (access: string) => {
    await store.query('UPDATE api_keys SET access = $1 WHERE id = $2', [access, keyId]);
    await store.service.advance(5 * SECOND_MS);
    return (await new ApiClient(store.service, other).post('/v1/items', ITEM)).status;
  };
  expect([await create('read-write'), await create('read')]).toEqual([201, 403]);
  expect(await create('read-write')).toBe(201);
});
