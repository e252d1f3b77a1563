import { gzipSync } from 'node:zlib';
import type { ApiResponse } from '../../../harness/http/client.js';
import { expectError } from '../../../harness/http/error-response.js';
import {
  RawConnection,
  type RawResponse,
  requestHead,
} from '../../../harness/http/raw-connection.js';
import { useStore } from '../../../harness/http/store.js';

const MAX_BYTES = 102_400;
const ITEM = '{"name":"Frank","categoryId":7}';

const store = useStore();

const itemOf = (bytes: number): string => `${ITEM.slice(0, -1)}${' '.repeat(bytes - ITEM.length)}}`;

/** Posts a body with these headers only. */
function post(body: string | Buffer, headers: Record<string, string>): Promise<ApiResponse> {
  return store.api.send('/v1/items', { method: 'POST', headers, body });
}

const postJson = (body: string | Buffer, headers: Record<string, string> = {}) =>
  post(body, { 'Content-Type': 'application/json', ...headers });

/** Posts in chunks, without saying how much is to come. */
const postChunked = (body: string | Buffer, headers: Record<string, string> = {}) =>
  postJson(body, { 'Transfer-Encoding': 'chunked', ...headers });

/** Writes a request whose body is not sent or is incomplete. Returns the response. */
function sendHead(header: string, body = ''): Promise<RawResponse> {
  const type = 'Content-Type: application/json';
  const head = requestHead('POST /v1/items', store.owner.key, type, header);
  return RawConnection.exchange(store.service, head + body);
}

/** Expects a 415, which names the accepted coding if that of the body is the reason. */
function expectUnsupported(response: ApiResponse, coding?: string): void {
  expectError(response, 415, 'unsupported_media_type');
  expect(response.headers['accept-encoding']).toBe(coding);
}

function expectTooLarge(response: ApiResponse): void {
  expect(expectError(response, 413, 'payload_too_large')).toBe(
    'The request body must not be larger than 102400 bytes.',
  );
}

function expectMalformed(response: ApiResponse, reason: string): void {
  expect(expectError(response, 400, 'malformed_json')).toMatch(
    new RegExp(`^The request body ${reason}\\.$`),
  );
}

/** A body with these bytes in its name. */
const itemNamed = (...inName: number[]): Buffer =>
  Buffer.from(`{"name":"Frank${String.fromCharCode(...inName)}","categoryId":7}`, 'latin1');

describe('POST /v1/items › Content-Type', () => {
  it.each([
    '',
    ';',
    '; charset=utf-8',
    ';charset=UTF-8',
    ' ; CHARSET=Utf-8',
    '; charset="utf-8"',
    ';\tcharset=utf-8 ',
    '; charset=utf-8;',
    '; profile="a;b\\"c"; charset=utf-8',
    '; charset=utf8',
    '; charset="UTF8"',
    '; charset=us-ascii',
    '; version=1',
  ])('201 when it is application/json%s, in any case', async (parameters) => {
    for (const type of ['application/json', 'APPLICATION/JSON', 'Application/Json']) {
      expect((await post(ITEM, { 'Content-Type': type + parameters })).status).toBe(201);
    }
  });

  it.each([
    '',
    'text/plain',
    'text/json',
    'application/x-www-form-urlencoded',
    'json',
    '*/*',
    'multipart/form-data; boundary=x',
    'application/octet-stream',
    'application/*',
    'application/vnd.api+json',
    'application/problem+json',
    'application/json-patch+json',
    'application/json+x',
    'application/jsonx',
    'application/json5',
    'xapplication/json',
    'application/ld+json; charset=utf-8',
    'application/json, text/plain',
    'application /json',
    'application/json text/plain',
  ])('415 when it is "%s"', async (type) => {
    expectUnsupported(await post(ITEM, { 'Content-Type': type }));
  });

  it.each([
    'charset=utf-16',
    'charset=iso-8859-1',
    'charset=ascii',
    'charset=utf_8',
    'charset=',
    'charset="utf-16"',
    'charset',
    "charset='utf-8'",
    'charset=utf-8; charset=utf-16',
    'charset=utf-8x',
    'version=1; charset=utf-16',
    'version',
    'version="1',
    'version=1 2',
    '=1',
  ])('415 when it is application/json; %s', async (parameters) => {
    expectUnsupported(await post(ITEM, { 'Content-Type': `application/json; ${parameters}` }));
  });

  it('415 when there is none, and when it is made to be hard to read', async () => {
    expectUnsupported(await post(ITEM, {}));
    const type = `application/json${'; \t'.repeat(2_500)}x`;
    expectUnsupported(await post(ITEM, { 'Content-Type': type }));
  });
});

describe('POST /v1/items › Content-Encoding', () => {
  it.each(['identity', 'Identity', ''])('201 when it is "%s"', async (coding) => {
    expect((await postJson(ITEM, { 'Content-Encoding': coding })).status).toBe(201);
    expect((await postChunked(ITEM, { 'Content-Encoding': coding })).status).toBe(201);
  });

  it.each(['gzip', 'br', 'deflate', 'zstd', 'identity, gzip', 'identity, identity', 'constructor'])(
    '415 with Accept-Encoding: identity when it is %s',
    async (coding) => {
      for (const body of [ITEM, gzipSync(ITEM)]) {
        const response = await postJson(body, { 'Content-Encoding': coding });
        expectUnsupported(response, 'identity');
      }
    },
  );
});

describe('POST /v1/items › size', () => {
  it('201 with 102,400 bytes', async () => {
    expect(Buffer.byteLength(itemOf(MAX_BYTES))).toBe(MAX_BYTES);

    expect((await postJson(itemOf(MAX_BYTES))).status).toBe(201);
    expect((await postChunked(itemOf(MAX_BYTES))).status).toBe(201);
  });

  it.each([MAX_BYTES + 1, 500_000])('413 with %i bytes', async (bytes) => {
    expectTooLarge(await postJson(itemOf(bytes)));
    expectTooLarge(await postChunked(itemOf(bytes)));
  });

  const CHUNK = `${(MAX_BYTES / 2).toString(16)}\r\n${' '.repeat(MAX_BYTES / 2)}\r\n`;
  it.each([
    [`Content-Length: ${MAX_BYTES + 1}`, ''],
    ['Content-Length: 9007199254740993', ''],
    ['Transfer-Encoding: chunked', `${CHUNK}${CHUNK}1\r\n \r\n`],
  ])('413 at once for %s, without waiting for the rest of the body', async (header, body) => {
    const { status, headers } = await sendHead(header, body);
    expect([status, headers['connection']]).toEqual([413, 'close']);
  });
});

describe('POST /v1/items › JSON', () => {
  it.each([
    ' \n',
    ITEM.slice(0, -1),
    `${ITEM}{}`,
    `${ITEM},`,
    `${ITEM}// a cat`,
    `\v${ITEM}`,
    '{"name":"Frank","categoryId":7,}',
    '{"name":"Frank","categoryId":7e0,}',
    "{'name':'Frank','categoryId':7}",
    '{name:"Frank",categoryId:7}',
    `\u00a0${ITEM}`,
    '{"name":"Fr\nank","categoryId":7}',
    '{"name":"Fr\0ank","categoryId":7}',
    '{"name":"\\x46rank","categoryId":7}',
    '{"name":"\\u46","categoryId":7}',
    '{"name":"A" "B","categoryId":7}',
    '{"name":"Frank","categoryId":undefined}',
    'name=Frank&categoryId=7',
    '{"name":"","categoryId":null',
    Buffer.from(ITEM, 'utf16le'),
  ])('400 malformed_json when it is %j', async (body) => {
    expectMalformed(await postJson(body), 'is not JSON from character \\d+ on');
  });

  it('400 malformed_json with the position of the error in up to 4,096 characters', async () => {
    for (const categoryId of ['7', '7e0', '9223372036854775807']) {
      const item = `{"name":"position 5","name":"","categoryId":${categoryId}`;
      for (const [size, where] of [
        [4_096, ' from character 4096 on'],
        [4_097, ''],
        [MAX_BYTES, ''],
      ] as const) {
        expectMalformed(await postJson(`${item.padEnd(size - 1)}]`), `is not JSON${where}`);
      }
    }
  });

  it.each(['', '{}', ITEM, '{"name":"Frank","categoryId":7e0}'])(
    '400 malformed_json when a byte order mark precedes "%s"',
    async (body) => {
      expectMalformed(await postJson(`\ufeff${body}`), 'begins with a byte order mark');
    },
  );

  it.each([
    ['a lone continuation byte', itemNamed(0x80)],
    ['a byte of no use', itemNamed(0xff)],
    ['Latin-1', itemNamed(0xeb)],
    ['cut short', itemNamed(0xe2, 0x82)],
    ['overlong', itemNamed(0xc1, 0x81)],
    ['an overlong NUL', itemNamed(0xc0, 0x80)],
    ['a surrogate', itemNamed(0xed, 0xa0, 0xbd)],
    ['a pair of surrogates', itemNamed(0xed, 0xa0, 0xbd, 0xed, 0xb0, 0x88)],
    ['past the last code point', itemNamed(0xf4, 0x90, 0x80, 0x80)],
  ])('400 malformed_json when it is not UTF-8: %s', async (_what, body) => {
    expectMalformed(await postJson(body), 'is not JSON in UTF-8');
  });

  it.each([
    ['\r\n\t {\n"name" : "Frank" ,\t"categoryId" : 7 } \n', 'Frank'],
    [`{"name":"Frank","categoryId":7,"x":[${'[[]],'.repeat(1_000)}{}]}`, 'Frank'],
    [`{"name":"${'[{'.repeat(40)}","categoryId":7}`, '[{'.repeat(40)],
    [`{"name":"\\"${'['.repeat(40)}\\\\","categoryId":7}`, `"${'['.repeat(40)}\\`],
  ])('201 with white space or many brackets within: %j', async (body, name) => {
    expect(await postJson(body)).toMatchObject({ status: 201, json: { name } });
  });

  /** A body of N levels with an ignored property. */
  const nested = (depth: number, category = '7'): string =>
    `{"name":"Frank","categoryId":${category},"x":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`;
  const nestedObjects = (depth: number): string =>
    `{"name":"Frank","categoryId":7,"x":${'{"x":'.repeat(depth - 2)}{}${'}'.repeat(depth - 1)}`;

  it.each([
    ['arrays', nested],
    ['arrays, with an exponent', (depth: number) => nested(depth, '7e0')],
    ['objects', nestedObjects],
  ])('201 when %s nest 32 levels deep, 400 malformed_json below', async (_what, bodyOf) => {
    expect((await postJson(bodyOf(32))).status).toBe(201);
    const bodies = [bodyOf(33), bodyOf(15_000), '['.repeat(100_000), '{"x":'.repeat(17_000)];
    for (const body of bodies) {
      expectMalformed(await postJson(body), 'is nested deeper than 32 levels');
    }
  });

  const repeated = (count: number, text: string): string => Array(count).fill(text).join(',');

  it.each([
    ['members', (count: number) => Array.from({ length: count }, (_, i) => `"${i}":0`).join(',')],
    ['elements', (count: number) => `"x":[${repeated(count - 1, '0')}]`],
    ['empty arrays', (count: number) => `"x":[${repeated(count - 1, '[]')}]`],
    ['empty objects', (count: number) => `"x":[ ${repeated(count - 1, ' { } ')} ]`],
    ['objects', (count: number) => `"x":[${repeated((count - 1) / 2, '{"a":0}')}]`],
  ])('201 with 10,000 members and elements, 400 with 10,001: %s', async (_what, members) => {
    const item = ITEM.slice(0, -1);

    expect((await postJson(`${item},"a":0,${members(9_997)}}`)).status).toBe(201);
    expectMalformed(
      await postJson(`${item},"a":0,"b":0,${members(9_997)}}`),
      'has more than 10,000 members and elements in total',
    );
  });
});
