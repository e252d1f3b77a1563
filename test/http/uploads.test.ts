import { expectError } from '../harness/http/error-response.js';
import type { ApiResponse } from '../harness/http/client.js';
import { RawConnection } from '../harness/http/raw-connection.js';
import { useStore } from '../harness/http/store.js';

const store = useStore({ features: 'uploads', env: { MAX_UPLOAD_MEBIBYTES: '1' } });
const MEBIBYTE = 2 ** 20;

async function upload(path: string, bytes: number, title?: string): Promise<ApiResponse> {
  const form = new FormData();
  if (title !== undefined) form.set('title', title);
  form.set('file', new Blob(['a'.repeat(bytes)]), 'a.txt');
  const request = new Request('http://localhost', { method: 'POST', body: form });
  return store.api.send(path, {
    method: 'POST',
    headers: { 'Content-Type': String(request.headers.get('content-type')) },
    body: Buffer.from(await request.arrayBuffer()),
  });
}

/** Returns one part of a body with the boundary `b`. @param name and further parameters */
function part(name: string, value: string): string {
  const parameter = name && `; name=${name}`;
  return `--b\r\nContent-Disposition: form-data${parameter}\r\n\r\n${value}\r\n`;
}

const sendParts = (body: string, type: string): Promise<ApiResponse> =>
  store.api.send('/v1/photos', { method: 'POST', headers: { 'Content-Type': type }, body });

test('POST to a route with FileInterceptor and @UploadedFile() › 201, larger than a JSON body', async () => {
  const { status, json } = await upload('/v1/photos', 500_000, 'Rope');
  expect([status, json]).toEqual([201, { title: 'Rope', name: 'a.txt', size: 500_000 }]);
});

test('POST to a route with FileInterceptor and @Req() › 201', async () => {
  const { status, json } = await upload('/v1/photos/request', 500_000);
  expect([status, json]).toEqual([201, { size: 500_000 }]);
});

test('400 for an invalid part, in a DTO', async () => {
  const response = await upload('/v1/photos', 10);
  expect(expectError(response, 400, 'invalid_request')).toContain('title');
});

test('413 over the limit of the service, and over that of the interceptor', async () => {
  for (const path of ['/v1/photos', '/v1/photos/request']) {
    const response = await upload(path, MEBIBYTE);
    expect(expectError(response, 413, 'payload_too_large')).toContain(String(MEBIBYTE));
  }
  const response = await upload('/v1/photos', 700_000, 'Rope');
  expect(response.json).toEqual({
    code: 'payload_too_large',
    message: 'File too large',
    status: 413,
  });
});

test.each([
  ['a file that the route does not expect', part('other; filename=a', 'a'), 'Unexpected f'],
  ['too many parts', part('title', 'a').repeat(4), 'Too many parts'],
  ['a body that ends early', '--b\r\nContent-Disposition: form-data', 'Multipart: '],
])('400 with the message of the package: %s', async (_title, parts, message) => {
  const { status, json } = await sendParts(`${parts}--b--\r\n`, 'multipart/form-data; boundary=b');
  expect([status, json.code]).toEqual([400, 'invalid_request']);
  expect(json.message).toContain(message);
});

test('415 for JSON, 400 without Content-Length, 401 before the upload', async () => {
  const json = await store.api.post('/v1/photos', { title: 'Rope' });
  expect(expectError(json, 415, 'unsupported_media_type')).toContain('multipart/form-data');
  const chunked = (key: string) =>
    RawConnection.open(
      store.service,
      `POST /v1/photos HTTP/1.1\r\nHost: pets\r\nAuthorization: Bearer ${key}\r\nContent-Type: multipart/form-data; boundary=a\r\nTransfer-Encoding: chunked\r\n\r\n`,
    );
  const connection = await chunked(store.owner.key);
  expectError(await connection.response(), 400, 'invalid_request');
  connection.close();
  const unknown = await chunked('none');
  expectError(await unknown.response(), 401, 'invalid_api_key');
  unknown.close();
});

test('503 while other uploads take all the room, and none of it after they have ended', async () => {
  const head = `POST /v1/photos HTTP/1.1\r\nHost: pets\r\nAuthorization: Bearer ${store.owner.key}\r\nContent-Type: multipart/form-data; boundary=a\r\nContent-Length: ${MEBIBYTE}\r\nExpect: 100-continue\r\n\r\n`;
  const slow = await Promise.all(
    Array.from({ length: 8 }, () => RawConnection.open(store.service, head)),
  );
  for (const connection of slow) expect((await connection.response()).status).toBe(100);
  expectError(await upload('/v1/photos', 10, 'Rope'), 503, 'service_unavailable');
  for (const connection of slow) connection.close();
  let status = 503;
  while (status === 503) ({ status } = await upload('/v1/photos', 10, 'Rope'));
  expect(status).toBe(201);
});
