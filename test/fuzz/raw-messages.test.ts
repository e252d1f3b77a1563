import { once } from 'node:events';
import { connect } from 'node:net';
import fc from 'fast-check';
import { anyRequest } from '../harness/fuzz/arbitraries.js';
import { send } from '../harness/http/client.js';
import { expectRateLimitHeaders } from '../harness/http/error-response.js';
import { holds } from '../harness/fuzz/property.js';
import { asResponse, bytesOf, checkError, Target } from '../harness/fuzz/target.js';

const LINE_ENDS = ['\r\n', '\n', '\r', '\r\n\r\n', '\0', ' ', '\t', ':', '\r\n '];
const HEADERS = [
  ...['Content-Length: 5', 'Content-Length: 05', 'Content-Length: 5, 5', 'Content-Length: -1'],
  ...['Content-Length: 99999999999999999999', 'Transfer-Encoding: chunked'],
  ...['Transfer-Encoding: gzip, chunked', 'Transfer-Encoding: chunked, identity'],
  ...['Transfer-Encoding : chunked', 'Host: other', 'Host: a b', 'Connection: close'],
  ...['Connection: Upgrade\r\nUpgrade: websocket', 'Expect: 100-continue', 'Expect: tea'],
  ...['Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c', 'Trailer: X', 'X: \x80\xff'],
].map((header) => `\r\n${header}\r\n`);
const LINES = ['GET /v1/items HTTP/1.0', 'GET http://[/ HTTP/1.1', 'CONNECT a:1 HTTP/1.1'];

let target: Target;

beforeAll(async () => {
  target = await Target.start();
});
afterAll(() => target.close());

interface Change {
  at: number;
  remove: number;
  insert: string;
}

const change: fc.Arbitrary<Change> = fc.record({
  at: fc.nat(),
  remove: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 20 })),
  insert: fc.oneof(
    fc.constant(''),
    fc.constantFrom(...LINE_ENDS, ...HEADERS, ...LINES, 'fffffffffffffffff\r\n', '0\r\n\r\n'),
    fc.uint8Array({ minLength: 1, maxLength: 8 }).map((bytes) => String.fromCharCode(...bytes)),
  ),
});

/** Beginnings of a request target in absolute-form, valid and invalid. */
const origin = fc
  .tuple(
    fc.constantFrom('http://', 'HTTPS://', 'ftp://', '//', 'http:'),
    fc.oneof(
      fc.constantFrom('pets', 'pets:80', '[::1]', '[', 'a[b', '[::g]', 'a:b', '@', '%zz', ''),
      fc.stringMatching(/^[!-~]{1,10}$/),
    ),
  )
  .map((parts) => parts.join(''));

const message = fc.tuple(anyRequest, fc.option(origin, { nil: '' })).map(([request, start]) => {
  const headers = [['Authorization', `Bearer ${target.key}`] as const, ...request.headers];
  const bytes = bytesOf({ ...request, target: start + request.target, headers });
  return bytes.toString('latin1');
});

function apply(text: string, { at, remove, insert }: Change): string {
  const start = at % (text.length + 1);
  return text.slice(0, start) + insert + text.slice(start + remove);
}

/** Sends all bytes, ends the client's side, and returns what the service sends until it closes the connection. */
async function exchange(bytes: Buffer): Promise<string> {
  const socket = connect({ port: target.service.port, host: '127.0.0.1', allowHalfOpen: true });
  let received = '';
  socket.setEncoding('latin1').on('data', (text: string) => (received += text));
  // A reset is allowed: the service may close a connection with unread bytes.
  socket.on('error', () => undefined);
  socket.end(bytes);
  await once(socket, 'close');
  return received;
}

/** Checks each response, as far as the responses can be told apart. */
function checkResponses(received: string): void {
  let rest = received;
  while (rest !== '') {
    expect(rest).toMatch(/^HTTP\/1\.1 [1-4]\d\d /);
    const end = rest.indexOf('\r\n\r\n');
    const [statusLine = '', ...lines] = rest.slice(0, end).split('\r\n');
    const status = Number(statusLine.split(' ')[1]);
    const headers = Object.fromEntries(
      lines.map((line) => [line.split(':')[0]!.toLowerCase(), line.replace(/^[^:]*: /, '')]),
    );
    rest = rest.slice(end + 4);
    if (status === 100) continue;
    // The response to HEAD has a Content-Length but no body.
    const isHead = rest === '' || rest.startsWith('HTTP/1.1 ');
    const length = isHead ? 0 : Number(headers['content-length'] ?? 0);
    const text = Buffer.from(rest.slice(0, length), 'latin1').toString();
    rest = rest.slice(length);
    expect(headers['x-content-type-options']).toBe('nosniff');
    const response = asResponse({ status, headers, text }, !isHead);
    if ('x-ratelimit-limit' in headers) expectRateLimitHeaders(response);
    if (status >= 400 && !isHead) checkError(response);
  }
}

test('messages with random changes get valid responses, and the service keeps running', async () => {
  const messages = fc
    .tuple(fc.array(message, { minLength: 1, maxLength: 3 }), fc.array(change, { maxLength: 4 }))
    .map(([texts, changes]) => changes.reduce(apply, texts.join('')));
  await holds(messages, async (text) => {
    checkResponses(await exchange(Buffer.from(text, 'latin1')));
  });
  const { status } = await send(target.service, '/health/live');
  expect(status).toBe(200);
});
