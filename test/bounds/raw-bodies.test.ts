import { expectError } from '../harness/http/error-response.js';
import { RawConnection, requestHead } from '../harness/http/raw-connection.js';
import { useStore } from '../harness/http/store.js';

const MEBIBYTE = 1_048_576;
const store = useStore({ features: 'raw-bodies', env: { MAX_UPLOAD_MEBIBYTES: '1' } });

const post = (path: string, bytes: number, method = 'POST') =>
  store.api.send(path, { method, body: Buffer.alloc(bytes, 'a') });

describe.each([
  ['@Req()', '/v1/raw-bodies/req'],
  ['a decorator of its own', '/v1/raw-bodies/decorator'],
])('POST to a route that reads the request with %s as a stream', (_how, path) => {
  test('201 up to MAX_UPLOAD_MEBIBYTES, 413 for more, 400 without a Content-Length', async () => {
    expect((await post(path, MEBIBYTE)).json).toEqual({ bytes: MEBIBYTE });
    const response = await post(path, MEBIBYTE + 1);
    expect(expectError(response, 413, 'payload_too_large')).toContain(String(MEBIBYTE));
    const head = requestHead(`POST ${path}`, store.owner.key, 'Transfer-Encoding: chunked');
    const chunked = await RawConnection.exchange(store.service, `${head}1\r\na\r\n0\r\n\r\n`);
    expectError(chunked, 400, 'invalid_request');
  });
});

test.each([
  ['404 for an unknown path', 'POST', '/v1/nothing', 404],
  ['405 for another method', 'PUT', '/v1/pets', 405],
  ['204 for OPTIONS', 'OPTIONS', '/v1/pets', 204],
])('%s, whatever body the request announces', async (_title, method, path, status) => {
  for (const headers of [
    ['Content-Type: multipart/form-data; boundary=a', 'Transfer-Encoding: chunked'],
    ['Content-Type: multipart/form-data; boundary=a', 'Content-Length: 1000000000'],
    ['Content-Type: text/plain', 'Content-Encoding: gzip', 'Content-Length: 1000000000'],
    ['Content-Type: application/json', 'Transfer-Encoding: chunked'],
  ]) {
    const head = requestHead(`${method} ${path}`, store.owner.key, ...headers);
    expect((await RawConnection.exchange(store.service, head)).status).toBe(status);
  }
});

test('POST to a route with @Req() › 100 before a body that the client announces', async () => {
  const expectation = ['Content-Length: 1', 'Expect: 100-continue'];
  const head = requestHead('POST /v1/raw-bodies/req', store.owner.key, ...expectation);
  const connection = await RawConnection.open(store.service, head);
  expect((await connection.response()).status).toBe(100);
  expect((await connection.write('a').response()).status).toBe(201);
  connection.close();
});

test('POST to a @Public() route › 201 with a body and without an API key', async () => {
  for (const path of ['/v1/raw-bodies/public', '/v1/public-bodies']) {
    const response = await store.anonymous.send(path, { method: 'POST', body: 'abc' });
    expect([response.status, response.json]).toEqual([201, { bytes: 3 }]);
  }
});
