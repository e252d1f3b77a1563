import { exampleOf } from '../../../harness/features/examples.js';
import { ApiClient, type ApiResponse } from '../../../harness/http/client.js';
import { expectError } from '../../../harness/http/error-response.js';
import { RawConnection, requestHead } from '../../../harness/http/raw-connection.js';
import { useStore } from '../../../harness/http/store.js';
import { untilMetric } from '../../../harness/service/metrics.js';
import { startService } from '../../../harness/service/service.js';

const MEBIBYTE = 1_048_576;
const MULTIPART = 'Content-Type: multipart/form-data; boundary=b';
const store = useStore({ features: 'bodies', env: { MAX_UPLOAD_MEBIBYTES: '1' } });

const post = (path: string, bytes: number) =>
  store.api.send(path, { method: 'POST', body: Buffer.alloc(bytes, 'a') });

const exchange = (request: string, key: string, ...headers: string[]) =>
  RawConnection.exchange(store.service, requestHead(request, key, ...headers));

async function upload(bytes: number, title?: string): Promise<ApiResponse> {
  const form = new FormData();
  if (title !== undefined) form.set('title', title);
  form.set('file', new Blob(['a'.repeat(bytes)]), 'a.txt');
  const request = new Request('http://localhost', { method: 'POST', body: form });
  const headers = { 'Content-Type': String(request.headers.get('content-type')) };
  const body = Buffer.from(await request.arrayBuffer());
  return store.api.send('/v1/photos', { method: 'POST', headers, body });
}

describe.each(['/v1/raw-bodies/req', '/v1/raw-bodies/decorator', '/v1/photos'])(
  'POST %s, which reads the request as a stream',
  (path) => {
    it('413 over MAX_UPLOAD_MEBIBYTES, 400 without a Content-Length, 401 before the body', async () => {
      const { key } = store.owner;
      const large = await exchange(`POST ${path}`, key, MULTIPART, 'Content-Length: 1048577');
      expect(expectError(large, 413, 'payload_too_large')).toContain(String(MEBIBYTE));
      const chunked = [MULTIPART, 'Transfer-Encoding: chunked'];
      expectError(await exchange(`POST ${path}`, key, ...chunked), 400, 'invalid_request');
      expectError(await exchange(`POST ${path}`, 'none', ...chunked), 401, 'invalid_api_key');
    });
  },
);

test('POST to a route that reads the request › 201, also without an API key if it is @Public()', async () => {
  for (const path of ['req', 'decorator']) {
    expect((await post(`/v1/raw-bodies/${path}`, MEBIBYTE)).json).toEqual({ bytes: MEBIBYTE });
  }
  const open = await store.anonymous.send('/v1/raw-bodies/public', { method: 'POST', body: 'abc' });
  expect([open.status, open.json]).toEqual([201, { bytes: 3 }]);
});

test('POST to a route with FileInterceptor › 201, larger than a JSON body; 400 and 413', async () => {
  const { status, json } = await upload(500_000, 'Rope');
  expect([status, json]).toEqual([201, { title: 'Rope', name: 'a.txt', size: 500_000 }]);
  expect(expectError(await upload(10), 400, 'invalid_request')).toContain('title');
  const { json: error } = await upload(700_000, 'Rope');
  expect(error).toEqual({ code: 'payload_too_large', message: 'File too large', status: 413 });
});

test('POST of a file to the example of multer › the name of the file, with letters outside ASCII', async () => {
  const features = exampleOf('packages/multer').modules;
  const service = await startService({ database: store.database, features });
  const api = new ApiClient(service, store.owner.key);
  for (const name of ['Straße.txt', '写真 🐕.txt']) {
    const form = new FormData();
    form.set('photo', new Blob(['a']), name);
    const request = new Request('http://localhost', { method: 'POST', body: form });
    const headers = { 'Content-Type': String(request.headers.get('content-type')) };
    const body = Buffer.from(await request.arrayBuffer());
    const { json } = await api.send('/v1/photos', { method: 'POST', headers, body });
    expect(json).toEqual({ name, bytes: 1 });
  }
  await service.close();
});

test('POST of a file › 503 while other uploads take all the room, and none of it after they have ended', async () => {
  const headers = [MULTIPART, `Content-Length: ${MEBIBYTE}`, 'Expect: 100-continue'];
  const head = requestHead('POST /v1/photos', store.owner.key, ...headers);
  const slow = await Promise.all(
    Array.from({ length: 8 }, () => RawConnection.open(store.service, head)),
  );
  for (const connection of slow) expect((await connection.response()).status).toBe(100);
  expectError(await upload(10, 'Rope'), 503, 'service_unavailable');
  for (const { socket } of slow) socket.resetAndDestroy();
  let status = 503;
  while (status === 503) ({ status } = await upload(10, 'Rope'));
  expect(status).toBe(201);
});

interface Description {
  paths: Record<string, { post: { responses: object } }>;
}

const ROW = { name: 'Row 1234', size: 1, isNew: true };
const rowsOf = (count: number) => ({ rows: Array<object>(count).fill(ROW) });

describe('a route with @BodyLimit()', () => {
  it('201 with 10,000 rows, with and without Content-Length', async () => {
    const { status, json } = await store.api.post('/v1/imports', rowsOf(10_000));
    expect([status, json]).toEqual([201, { rows: 10_000, last: 'Row' }]);
    const text = JSON.stringify(rowsOf(10_000));
    const half = text.length / 2;
    const chunks = [text.slice(0, half), text.slice(half)].map(
      (part) => `${part.length.toString(16)}\r\n${part}\r\n`,
    );
    const headers = ['Content-Type: application/json', 'Transfer-Encoding: chunked'];
    const head = requestHead('POST /v1/imports', store.owner.key, ...headers);
    const response = await RawConnection.exchange(
      store.service,
      `${head}${chunks.join('')}0\r\n\r\n`,
    );
    expect(response.status).toBe(201);
  });

  it.each<[string, number, string, string, body: object | string]>([
    ['', 413, 'payload_too_large', ' 1000000 bytes', ' '.repeat(1_000_001)],
    ['', 400, 'malformed_json', ' 50,000 members', { rows: Array(50_000).fill(1) }],
    ['/few', 413, 'payload_too_large', ' 1000 bytes', rowsOf(30)],
    ['/raw', 413, 'payload_too_large', ' 1000000 bytes', ' '.repeat(1_000_001)],
    [
      '',
      400,
      'invalid_request',
      'rows.9999.size: size must be an integer',
      { rows: [...rowsOf(9_999).rows, { ...ROW, size: 'a' }] },
    ],
  ])(
    'POST /v1/imports%s › %i %s, for the limit of the route',
    async (path, status, code, message, body) => {
      const response = await store.api.post(`/v1/imports${path}`, body);
      expect(expectError(response, status, code)).toContain(message);
    },
  );

  it('the OpenAPI description has the limits of the route', async () => {
    const { paths } = (await store.anonymous.get('/openapi.json')).json as unknown as Description;
    const text = (path: string) => JSON.stringify(paths[path]?.post.responses);
    expect(text('/imports')).toContain('"The JSON is over 1,000,000 bytes, or 256 HTTP chunks."');
    expect(text('/imports')).toContain('more than 50,000 values.');
    expect(text('/imports/few')).toContain('"The JSON is over 1,000 bytes, or 256 HTTP chunks."');
    expect(text('/items')).not.toMatch(/over 1,000|50,000/);
  });

  it('the limits of other routes stay', async () => {
    expectError(await store.api.post('/v1/items', rowsOf(3_000)), 413, 'payload_too_large');
  });

  it('503 while large bodies of other requests are held, and 201 after they have ended', async () => {
    const body = JSON.stringify(rowsOf(1)).padEnd(1_000_000);
    const headers = ['Content-Type: application/json', `Content-Length: ${body.length}`];
    const head = requestHead('POST /v1/imports/held', store.owner.key, ...headers);
    const held = await Promise.all(
      Array.from({ length: 9 }, () => RawConnection.open(store.service, head + body)),
    );
    const first = await Promise.race(held.map((connection) => connection.response()));
    // Not that of the response deadline.
    expect(expectError(first, 503, 'service_unavailable')).toContain('overloaded');
    for (const { socket } of held) socket.resetAndDestroy();
    let status = 503;
    while (status === 503) ({ status } = await store.api.post('/v1/imports', body));
    expect(status).toBe(201);
  });

  it('an arriving body counts with the bytes that have arrived', async () => {
    const headers = ['Content-Type: application/json', 'Content-Length: 1000000'];
    const head = requestHead('POST /v1/imports', store.owner.key, ...headers);
    const connection = await RawConnection.open(store.service, head + ' '.repeat(900_000));
    await untilMetric(store.service, 'arriving_body_bytes', (bytes) => bytes >= 900_000);
    connection.close();
  });
});

test.each([
  ['404 for an unknown path', 'POST /v1/nothing', 404],
  ['405 for another method', 'PUT /v1/items', 405],
  ['204 for OPTIONS', 'OPTIONS /v1/items', 204],
])('%s, whatever body the request announces', async (_title, request, status) => {
  for (const headers of [
    [MULTIPART, 'Transfer-Encoding: chunked'],
    [MULTIPART, 'Content-Length: 1000000000'],
    ['Content-Type: text/plain', 'Content-Encoding: gzip', 'Content-Length: 1000000000'],
    ['Content-Type: application/json', 'Transfer-Encoding: chunked'],
  ]) {
    expect((await exchange(request, store.owner.key, ...headers)).status).toBe(status);
  }
});
