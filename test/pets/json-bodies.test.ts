import { gzipSync } from 'node:zlib';
import { type ApiResponse, ApiClient, sendRaw } from '../harness/http/client.js';
import { createOwner } from '../harness/database/factories.js';
import { startService, type TestService } from '../harness/service/service.js';

const MAX_BYTES = 102_400;

let service: TestService;
let key: string;
let api: ApiClient;

beforeAll(async () => {
  service = await startService();
  ({ key } = await createOwner(service.database));
  api = new ApiClient(service, key);
});

afterAll(() => service.close());

const PET = '{"name":"Frank","categoryId":7}';

/** Returns a valid body of N bytes. */
const petOf = (bytes: number): string => `${PET.slice(0, -1)}${' '.repeat(bytes - PET.length)}}`;

/** Posts a body with these headers only. */
function post(body: string | Buffer, headers: Record<string, string>): Promise<ApiResponse> {
  return api.send('/v1/pets', { method: 'POST', headers, body });
}

const postJson = (body: string | Buffer, headers: Record<string, string> = {}) =>
  post(body, { 'Content-Type': 'application/json', ...headers });

/** Posts in chunks, without saying how much is to come. */
const postChunked = (body: string | Buffer, headers: Record<string, string> = {}) =>
  postJson(body, { 'Transfer-Encoding': 'chunked', ...headers });

/** Writes a request whose body is not sent or is incomplete. Returns the response. */
function sendHead(headers: Record<string, string>, body = ''): Promise<string> {
  const allHeaders = { Host: 'localhost', Authorization: `Bearer ${key}`, ...headers };
  const lines = Object.entries(allHeaders).map(([name, value]) => `${name}: ${value}\r\n`);
  return sendRaw(service, `POST /v1/pets HTTP/1.1\r\n${lines.join('')}\r\n${body}`, {
    quietMs: 50,
  });
}

const UNSUPPORTED = { code: 'unsupported_media_type', message: expect.any(String), status: 415 };
const TOO_LARGE = {
  code: 'payload_too_large',
  message: 'The request body must not be larger than 102400 bytes.',
  status: 413,
};
const MALFORMED = { code: 'malformed_json', message: expect.any(String), status: 400 };

describe('POST /v1/pets › Content-Type', () => {
  it.each([
    'application/json',
    'APPLICATION/JSON',
    'Application/Json',
    'application/json; charset=utf-8',
    'application/json;charset=UTF-8',
    'application/json ; CHARSET=Utf-8',
    'application/json; charset="utf-8"',
    'application/json;\tcharset=utf-8 ',
    'application/json;',
    'application/json; charset=utf-8;',
    'application/json; profile="a;b\\"c"; charset=utf-8',
    'application/json; version=1',
  ])('201 when it is %s', async (type) => {
    expect((await post(PET, { 'Content-Type': type })).status).toBe(201);
  });

  it.each([
    'text/plain',
    'text/json',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/octet-stream',
    'application/vnd.api+json',
    'application/problem+json',
    'application/json+x',
    'application/json-patch+json',
    'application/jsonx',
    'application/json5',
    'application/ld+json; charset=utf-8',
    'xapplication/json',
    'application/json, text/plain',
    'application/json text/plain',
    'application /json',
    'application/*',
    '*/*',
    'json',
    'application/json; charset=utf8',
    'application/json; charset=utf-16',
    'application/json; charset=iso-8859-1',
    'application/json; charset=us-ascii',
    'application/json; charset="utf-16"',
    'application/json; charset=',
    'application/json; charset',
    "application/json; charset='utf-8'",
    'application/json; charset=utf-8; charset=utf-16',
    'application/json; charset=utf-8x',
    'application/json; version=1; charset=utf-16',
    'application/json; version',
    'application/json; version="1',
    'application/json; version=1 2',
    'application/json; =1',
    '',
  ])('415 when it is %s', async (type) => {
    const response = await post(PET, { 'Content-Type': type });

    expect(response.status).toBe(415);
    expect(response.json).toEqual(UNSUPPORTED);
    expect(response.headers['cache-control']).toBe('no-store');
  });

  it('415 when there is none', async () => {
    expect((await post(PET, {})).json).toEqual(UNSUPPORTED);
  });

  it('415 within a moment when it is made to be hard to read', async () => {
    const type = `application/json${'; \t'.repeat(4_000)}x`;
    expect((await post(PET, { 'Content-Type': type })).json).toEqual(UNSUPPORTED);
  });

  it('400 that lists the required properties, not 415, when there is no body', async () => {
    const response = await post('', { 'Content-Type': 'text/plain', 'Content-Length': '0' });

    expect(response.json).toMatchObject({ code: 'invalid_request' });
  });
});

describe('POST /v1/pets › Content-Encoding', () => {
  it.each(['identity', 'Identity', ''])('201 when it is "%s"', async (coding) => {
    expect((await postJson(PET, { 'Content-Encoding': coding })).status).toBe(201);
    expect((await postChunked(PET, { 'Content-Encoding': coding })).status).toBe(201);
  });

  it.each([
    ['gzip', gzipSync(PET)],
    ['br', PET],
    ['deflate', PET],
    ['zstd', PET],
    ['identity, gzip', gzipSync(PET)],
    ['identity, identity', PET],
    ['constructor', PET],
  ])('415 with Accept-Encoding: identity when it is %s', async (coding, body) => {
    const response = await postJson(body, { 'Content-Encoding': coding });

    expect(response.json).toEqual(UNSUPPORTED);
    expect(response.headers['accept-encoding']).toBe('identity');
  });

  it('415 without Accept-Encoding when only the Content-Type is wrong', async () => {
    const { status, headers } = await post(PET, { 'Content-Type': 'text/plain' });

    expect([status, headers['accept-encoding']]).toEqual([415, undefined]);
  });
});

describe('POST /v1/pets › size', () => {
  it('201 with 102,400 bytes', async () => {
    expect(Buffer.byteLength(petOf(MAX_BYTES))).toBe(MAX_BYTES);

    expect((await postJson(petOf(MAX_BYTES))).status).toBe(201);
    expect((await postChunked(petOf(MAX_BYTES))).status).toBe(201);
  });

  it.each([MAX_BYTES + 1, 500_000])('413 with %i bytes', async (bytes) => {
    for (const response of [await postJson(petOf(bytes)), await postChunked(petOf(bytes))]) {
      expect(response.status).toBe(413);
      expect(response.json).toEqual(TOO_LARGE);
    }
  });

  it('413 at once for Content-Length, without reading the body', async () => {
    const type = { 'Content-Type': 'application/json' };

    const response = await sendHead({ ...type, 'Content-Length': `${MAX_BYTES + 1}` });
    expect(response).toMatch(/^HTTP\/1\.1 413 /);
    expect(response).toMatch(/\r\nConnection: close\r\n/);
    expect(await sendHead({ ...type, 'Content-Length': '9007199254740993' })).toMatch(
      /^HTTP\/1\.1 413 /,
    );
  });

  it('413 as soon as chunks come to more, with the rest not waited for', async () => {
    const headers = { 'Content-Type': 'application/json', 'Transfer-Encoding': 'chunked' };
    const chunk = `${(MAX_BYTES / 2).toString(16)}\r\n${' '.repeat(MAX_BYTES / 2)}\r\n`;

    expect(await sendHead(headers, `${chunk}${chunk}1\r\n \r\n`)).toMatch(/^HTTP\/1\.1 413 /);
  });
});

describe('POST /v1/pets › JSON', () => {
  it.each([
    ['nothing but white space', ' \n'],
    ['cut short', PET.slice(0, -1)],
    ['followed by more', `${PET}{}`],
    ['followed by a comma', `${PET},`],
    ['with a trailing comma', '{"name":"Frank","categoryId":7,}'],
    ['with single quotes', "{'name':'Frank','categoryId':7}"],
    ['with bare names', '{name:"Frank",categoryId:7}'],
    ['with a comment', `${PET}// a cat`],
    ['with a line end in a string', '{"name":"Fr\nank","categoryId":7}'],
    ['with a NUL in a string', '{"name":"Fr\0ank","categoryId":7}'],
    ['with an unknown escape', '{"name":"\\x46rank","categoryId":7}'],
    ['with a short escape', '{"name":"\\u46","categoryId":7}'],
    ['with two values for a name', '{"name":"A" "B","categoryId":7}'],
    ['with an unknown word', '{"name":"Frank","categoryId":undefined}'],
    ['with a vertical tab', `\v${PET}`],
    ['with a no-break space', `\u00a0${PET}`],
    ['a form', 'name=Frank&categoryId=7'],
    ['wrong, with an exponent', '{"name":"Frank","categoryId":7e0,}'],
    ['beginning with a byte order mark', `\ufeff${PET}`],
    [
      'beginning with a byte order mark, with an exponent',
      '\ufeff{"name":"Frank","categoryId":7e0}',
    ],
    ['a byte order mark', '\ufeff'],
    ['in UTF-16', Buffer.from(PET, 'utf16le')],
    ['not UTF-8: a lone continuation byte', bytes(0x80)],
    ['not UTF-8: a byte of no use', bytes(0xff)],
    ['not UTF-8: Latin-1', Buffer.from('{"name":"Zoë","categoryId":7}', 'latin1')],
    ['not UTF-8: cut short', bytes(0xe2, 0x82)],
    ['not UTF-8: overlong', bytes(0xc1, 0x81)],
    ['not UTF-8: an overlong NUL', bytes(0xc0, 0x80)],
    ['not UTF-8: a surrogate', bytes(0xed, 0xa0, 0xbd)],
    ['not UTF-8: a pair of surrogates', bytes(0xed, 0xa0, 0xbd, 0xed, 0xb0, 0x88)],
    ['not UTF-8: past the last code point', bytes(0xf4, 0x90, 0x80, 0x80)],
  ])('400 malformed_json when it is %s', async (_what, body) => {
    expect((await postJson(body)).json).toEqual(MALFORMED);
  });

  it('201 with white space around and within', async () => {
    expect((await postJson('\r\n\t {\n"name" : "Frank" ,\t"categoryId" : 7 } \n')).status).toBe(
      201,
    );
  });

  it('201 with a byte order mark in the name', async () => {
    const response = await postJson('{"name":"\ufeffFrank","categoryId":7}');

    expect(response).toMatchObject({ status: 201, json: { name: '\ufeffFrank' } });
  });

  /** A body of N levels with an ignored property. */
  const nested = (depth: number, open: string, close: string, category = '7'): string =>
    `{"name":"Frank","categoryId":${category},"x":${open.repeat(depth - 1)}${close.repeat(depth - 1)}}`;

  it.each([
    ['arrays', nested(32, '[', ']'), nested(33, '[', ']')],
    ['arrays, with an exponent', nested(32, '[', ']', '7e0'), nested(33, '[', ']', '7e0')],
    [
      'objects',
      `{"x":`.repeat(31) + PET + '}'.repeat(31),
      `{"x":`.repeat(32) + PET + '}'.repeat(32),
    ],
  ])('400 malformed_json when %s nest deeper than 32 levels', async (_what, good, bad) => {
    expect((await postJson(good)).json).not.toMatchObject({ code: 'malformed_json' });
    expect((await postJson(bad)).json).toEqual(MALFORMED);
  });

  it.each([
    ['20,000 arrays', nested(20_000, '[', ']')],
    ['100,000 arrays that do not end', '['.repeat(100_000)],
    ['17,000 objects that do not end', '{"x":'.repeat(17_000)],
  ])('400 malformed_json with %s', async (_what, body) => {
    expect((await postJson(body)).json).toEqual(MALFORMED);
  });

  it.each([
    ['side by side', `{"name":"Frank","categoryId":7,"x":[${'[[]],'.repeat(1_000)}{}]}`, 'Frank'],
    ['in strings', `{"name":"${'[{'.repeat(40)}","categoryId":7}`, '[{'.repeat(40)],
    [
      'in strings with quotes',
      `{"name":"\\"${'['.repeat(40)}\\\\","categoryId":7}`,
      `"${'['.repeat(40)}\\`,
    ],
  ])('201 with any number of brackets %s', async (_what, body, name) => {
    expect(await postJson(body)).toMatchObject({ status: 201, json: { name } });
  });

  it.each([
    ['members', (count: number) => Array.from({ length: count }, (_, i) => `"${i}":0`).join(',')],
    [
      'elements',
      (count: number) =>
        `"x":[${Array(count - 1)
          .fill(0)
          .join(',')}]`,
    ],
    [
      'empty arrays',
      (count: number) =>
        `"x":[${Array(count - 1)
          .fill('[]')
          .join(',')}]`,
    ],
    [
      'empty objects',
      (count: number) =>
        `"x":[ ${Array(count - 1)
          .fill('{ }')
          .join(' , ')} ]`,
    ],
    [
      'objects',
      (count: number) =>
        `"x":[${Array((count - 1) / 2)
          .fill('{"a":0}')
          .join(',')}]`,
    ],
  ])('201 with 10,000 members and elements, 400 with 10,001: %s', async (_what, members) => {
    const pet = PET.slice(0, -1);

    expect((await postJson(`${pet},${members(9_997)}}`)).status).toBe(201);
    expect((await postJson(`${pet},"a":0,${members(9_997)}}`)).status).toBe(201);
    const { json } = await postJson(`${pet},"a":0,"b":0,${members(9_997)}}`);
    expect(json).toEqual({
      ...MALFORMED,
      message:
        'The request body has more than 10,000 members and elements in total. It must be JSON in UTF-8.',
    });
  });

  it('400 that names every invalid property when one is a large object', async () => {
    const members = Array.from({ length: 9_000 }, (_, index) => `"${index}":1`).join(',');
    const { json } = await postJson(`{"name":{${members}},"categoryId":"7"}`);

    expect(json.message).toMatch(/^name must be a string .*; categoryId must be an integer /);
  });

  it("400 in the service's own words", async () => {
    const messages = [
      (await postJson('{"name":')).json.message,
      (await postJson(bytes(0xff))).json.message,
      (await postJson('\ufeff{}')).json.message,
      (await postJson('['.repeat(33))).json.message,
    ];

    expect(messages).toEqual([
      'The request body cannot be parsed. It must be JSON in UTF-8.',
      'The request body is not valid UTF-8. It must be JSON in UTF-8.',
      'The request body begins with a byte order mark. It must be JSON in UTF-8.',
      'The request body is nested deeper than 32 levels. It must be JSON in UTF-8.',
    ]);
  });
});

describe('POST /v1/pets › the first of several things wrong', () => {
  const text = { 'Content-Type': 'text/plain' };

  it.each([
    ['415 before 413', petOf(MAX_BYTES + 1), text, 415],
    ['415 before 413, by its coding', petOf(MAX_BYTES + 1), { 'Content-Encoding': 'lzma' }, 415],
    ['415 before malformed JSON', '{', text, 415],
    ['415 before invalid properties', '{}', text, 415],
    ['413 before malformed JSON', '{'.repeat(MAX_BYTES + 1), {}, 413],
    ['413 before what is not UTF-8', Buffer.alloc(MAX_BYTES + 1, 0xff), {}, 413],
  ])('%s', async (_what, body, headers, status) => {
    expect((await postJson(body, headers)).status).toBe(status);
  });

  it('malformed JSON before invalid properties', async () => {
    expect((await postJson('{"name":"","categoryId":null')).json).toEqual(MALFORMED);
  });
});

function bytes(...inName: number[]): Buffer {
  return Buffer.concat([
    Buffer.from('{"name":"Frank'),
    Buffer.from(inName),
    Buffer.from('","categoryId":7}'),
  ]);
}
