import { holdTable } from '../../harness/database/database-lock.js';
import { createKey } from '../../harness/database/factories.js';
import { expectError } from '../../harness/http/error-response.js';
import { RawConnection, requestHead } from '../../harness/http/raw-connection.js';
import { useStore } from '../../harness/http/store.js';
import { until } from '../../harness/run/until.js';
import { metric } from '../../harness/service/metrics.js';
import { SECOND_MS } from '../../harness/rate-limit/limits.js';

const store = useStore({
  features: ['bodies', 'slow'],
  env: { DATABASE_STATEMENT_TIMEOUT_SECONDS: '2', READINESS_TIMEOUT_SECONDS: '30' },
});
const ITEM = JSON.stringify({ name: 'Frank', categoryId: 1 });

/** Begins a request with an API key of its own, and changes the key when the service has responded to the head. */
async function changeDuring(request: string, headers: string[], change: string) {
  const { key, keyId } = await createKey(store.database, store.owner.id);
  const head = requestHead(request, key, ...headers);
  const connection = await RawConnection.open(store.service, head);
  const { status } = await connection.response({ hasBody: false });
  await store.query(`UPDATE api_keys SET ${change} WHERE id = $1`, [keyId]);
  await store.service.advance(5 * SECOND_MS);
  return { connection, status };
}

const itemCount = async () => (await store.query('SELECT FROM test_items')).length;

test.each([
  ['revoked', 'revoked_at = now()', 401, 'invalid_api_key'],
  ['made read-only', `access = 'read'`, 403, 'read_only_api_key'],
  ['changed in its note only', `note = 'Other'`, 201, ''],
])(
  'POST /v1/items › with an API key that is %s while the body arrives',
  async (_, change, status, code) => {
    const before = await itemCount();
    const length = `Content-Length: ${ITEM.length}`;
    const headers = ['Content-Type: application/json', length, 'Expect: 100-continue'];
    const begun = await changeDuring('POST /v1/items', headers, change);
    expect(begun.status).toBe(100);
    const response = await begun.connection.write(ITEM).response();
    if (code === '') expect(response.status).toBe(status);
    else expectError(response, status, code);
    expect(await itemCount()).toBe(before + (status === 201 ? 1 : 0));
    begun.connection.close();
  },
);

test('POST /v1/items › 401 and no reset when an upload with the same API key has been reset meanwhile', async () => {
  const { key, keyId } = await createKey(store.database, store.owner.id);
  const begin = async (request: string, type: string, length: number) => {
    const headers = [`Content-Type: ${type}`, `Content-Length: ${length}`, 'Expect: 100-continue'];
    const connection = await RawConnection.open(
      store.service,
      requestHead(request, key, ...headers),
    );
    expect((await connection.response()).status).toBe(100);
    return connection;
  };
  const item = await begin('POST /v1/items', 'application/json', ITEM.length);
  const upload = await begin('POST /v1/photos', 'multipart/form-data; boundary=x', 1_000);
  await store.query('UPDATE api_keys SET revoked_at = now() WHERE id = $1', [keyId]);
  await store.service.advance(5 * SECOND_MS);
  await expect(upload.serverEnd()).rejects.toThrow('ECONNRESET');
  expectError(await item.write(ITEM).response(), 401, 'invalid_api_key');
  item.close();
});

test('POST /v1/photos › an upload whose API key is revoked while it arrives is reset', async () => {
  const headers = [
    'Content-Type: multipart/form-data; boundary=x',
    'Content-Length: 1000',
    'Expect: 100-continue',
  ];
  const { connection, status } = await changeDuring(
    'POST /v1/photos',
    headers,
    'revoked_at = now()',
  );
  expect(status).toBe(100);
  await expect(connection.serverEnd()).rejects.toThrow('ECONNRESET');
});

test('POST /v1/raw-bodies/req › an upload goes on although lookups of its API key fail while it arrives', async () => {
  const headers = ['Content-Length: 4', 'Expect: 100-continue'];
  const { key } = await createKey(store.database, store.owner.id);
  const head = requestHead('POST /v1/raw-bodies/req', key, ...headers);
  const connection = await RawConnection.open(store.service, head);
  expect((await connection.response({ hasBody: false })).status).toBe(100);
  const lock = await holdTable(store.database, 'api_keys', 'ACCESS EXCLUSIVE');
  const lookups = () => metric(store.service, 'key_lookups_total{source="database"}');
  const before = await lookups();
  await store.service.advance(5 * SECOND_MS);
  // Each one begins when the one before has failed.
  await until(async () => (await lookups()) >= before + 3);
  await lock.release();
  expect(await connection.write('abcd').response()).toMatchObject({ status: 201 });
  const line = await store.service.waitForLog(({ route }) => route === '/v1/raw-bodies/req');
  expect(line).toMatchObject({ ownerId: store.owner.id });
  connection.close();
});

test('GET /v1/slow/events › a stream of events whose API key is revoked is reset', async () => {
  const { connection, status } = await changeDuring(
    'GET /v1/slow/events',
    [],
    'revoked_at = now()',
  );
  expect(status).toBe(200);
  await expect(connection.serverEnd()).rejects.toThrow('ECONNRESET');
});
