import { createKey } from '../../../harness/database/factories.js';
import { RawConnection, requestHead } from '../../../harness/http/raw-connection.js';
import { featureFile, useStore } from '../../../harness/http/store.js';
import { untilMetric } from '../../../harness/service/metrics.js';
import { startService } from '../../../harness/service/service.js';

const BODY = '{"text":"Hello"}';
const JSON_TYPE = 'application/json';
const store = useStore({
  features: 'notes',
  env: { MAX_UNAUTHENTICATED_REQUESTS: '5', MAX_REQUESTS_IN_PROGRESS: '10' },
});
const keys: Record<string, string> = { unknown: 'unknown' };

beforeAll(async () => {
  const { key: read } = await createKey(store.database, store.owner.id, { access: 'read' });
  Object.assign(keys, { valid: store.owner.key, read });
});

const untilInProgress = (requests: number) =>
  untilMetric(store.service, 'requests_in_progress', (count) => count === requests);

/** Sends a head and its body at once, while other requests are in progress. */
async function post(path: string, key?: string, type = JSON_TYPE, inProgress = 0) {
  const waiting = requestHead('GET /v1/notes/never', store.owner.key);
  const others = await Promise.all(
    Array.from({ length: inProgress }, () => RawConnection.open(store.service, waiting)),
  );
  await untilInProgress(inProgress);
  const headers = [`Content-Type: ${type}`, `Content-Length: ${BODY.length}`];
  const head = requestHead(`POST ${path}`, key && keys[key], ...headers);
  const { status, headers: sent } = await RawConnection.exchange(store.service, head + BODY);
  for (const { socket } of others) socket.resetAndDestroy();
  await untilInProgress(0);
  const { parsedBytes } = (await store.api.get('/v1/notes')).json;
  return { status, connection: sent['connection'], parsedBytes };
}

test.each([
  ['401 without an API key', 401, '/v1/notes', undefined, 0],
  ['401 with an unknown API key', 401, '/v1/notes', 'unknown', 0],
  ['401 without an API key, for a path without a route', 401, '/v1/nope', undefined, 0],
  ['503 without an API key, over a bound', 503, '/v1/notes', undefined, 5],
  ['503 with a valid API key, over a bound', 503, '/v1/notes', 'valid', 10],
])(
  'POST › %s: the body is not even parsed, and the connection closes',
  async (_title, status, path, key, inProgress) => {
    const expected = { status, connection: 'close', parsedBytes: 0 };
    expect(await post(path, key, JSON_TYPE, inProgress)).toEqual(expected);
  },
);

test.each([
  ['201 without an API key', 201, '/v1/notes/public', undefined, JSON_TYPE, 4],
  ['201 with a valid API key', 201, '/v1/notes', 'valid', JSON_TYPE, 9],
  ['403 with a read-only API key', 403, '/v1/notes', 'read', JSON_TYPE, 0],
  ['404 with a valid API key', 404, '/v1/nope', 'valid', JSON_TYPE, 0],
  ['415 with a valid API key', 415, '/v1/notes', 'valid', 'text/plain', 0],
])(
  'POST › %s: the connection stays open, because the body arrived with the head',
  async (_title, status, path, key, type, inProgress) => {
    const expected = { status, connection: 'keep-alive', parsedBytes: BODY.length };
    expect(await post(path, key, type, inProgress)).toEqual(expected);
  },
);

test.each([
  { NOTE_BYTES: '2000000', MAX_UPLOAD_MEBIBYTES: '1' },
  { NOTE_BYTES: '2000000', MAX_ARRIVING_MEBIBYTES: '1' },
  { NOTE_BYTES: '10', NOTE_VALUES: '11' },
  { NOTE_VALUES: 'NaN' },
])('the start rejects a @BodyLimit() that the service cannot keep: %j', async (env) => {
  const features = featureFile('notes');
  await expect(startService({ database: store.database, features, env })).rejects.toThrow(
    /: StartError: LargeNotesController: @BodyLimit\(\) accepts at most \d+ bytes /,
  );
});
