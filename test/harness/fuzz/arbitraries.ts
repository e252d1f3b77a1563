import { brotliCompressSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { codePoint } from './code-point.js';
import type { FuzzRequest } from './target.js';

/** A valid body, and the body of a response to it. */
export interface ValidPet {
  body: string;
  /** What the response has after the id. */
  stored: string;
}

/** An integer in one of the notations of JSON. */
function integerText(value: bigint): fc.Arbitrary<string> {
  const notations = [`${value}`, `${value}.0`, `${value}e0`, `${value}.000e+0`];
  // JSON has no leading zeros.
  return fc.constantFrom(...notations, ...(value === 0n ? [] : [`${value}00E-2`]));
}

function stringText(text: string): fc.Arbitrary<string> {
  const escaped = Array.from({ length: text.length }, (_, index) =>
    text.charCodeAt(index).toString(16).padStart(4, '0'),
  );
  const units = escaped.map((digits) => `\\u${digits}`);
  return fc.constantFrom(JSON.stringify(text), `"${units.join('')}"`);
}

const name = fc
  .oneof(
    ...(['grapheme', codePoint, 'binary-ascii'] as const).map((unit) =>
      fc.string({ unit, minLength: 1, maxLength: 255, size: 'medium' }),
    ),
  )
  .filter((text) => /[^\s\u0085]/u.test(text) && !/[\0\ufeff\p{Surrogate}]/u.test(text))
  .filter((text) => Array.from(text).length <= 255);

/** Valid items, with random order of members, escapes, white space and notations of numbers. */
export const validPet: fc.Arbitrary<ValidPet> = fc
  .record({
    name,
    category: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
    status: fc.option(fc.constantFrom('available', 'pending', 'sold'), { nil: undefined }),
    comma: fc.constantFrom(',', ' , ', ',\n\t'),
  })
  .chain(({ name: text, category, status, comma }) => {
    const members = [
      stringText(text).map((value) => `"name":${value}`),
      integerText(category).map((value) => `"categoryId" : ${value}`),
      ...(status ? [fc.constant(`"status":"${status}"`)] : []),
    ];
    const rest = `"name":${JSON.stringify(text)},"categoryId":${category},"status":"${status ?? 'available'}"}`;
    return fc
      .tuple(...members)
      .chain((parts) => fc.shuffledSubarray(parts, { minLength: parts.length }))
      .map((parts) => ({ body: `{${parts.join(comma)}}`, stored: rest }));
  });

interface EncodedBody {
  headers: [string, string][];
  body: Buffer;
  chunkBytes: number | undefined;
}

const asItIs = (body: Buffer): Buffer => body;

/** Returns the body with a coding that the service accepts, or with others and contradictions. */
function encoded(body: Buffer): fc.Arbitrary<EncodedBody> {
  const other = fc.constantFrom('gzip', 'br', 'deflate', 'identity', 'gzip, br', 'zstd', '');
  return fc
    .record({
      coding: fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, other),
      // Only what is sent is compressed.
      encode: fc.constantFrom(asItIs, asItIs, gzipSync, brotliCompressSync),
      chunkBytes: fc.option(fc.integer({ min: 1, max: 64 }), { nil: undefined }),
    })
    .map(({ coding, encode, chunkBytes }) => ({
      headers: coding === undefined ? [] : [['Content-Encoding', coding]],
      body: coding === undefined ? body : encode(body),
      chunkBytes,
    }));
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND'];

/** Valid bytes of a header's value (RFC 9110, section 5.5), without white space at its ends. */
const headerValue = fc
  .array(
    fc.oneof(
      fc.integer({ min: 0x20, max: 0x7e }),
      fc.integer({ min: 0x80, max: 0xff }),
      fc.constantFrom(0x09, 0x22, 0x2c, 0x3b, 0x3d),
    ),
    { maxLength: 60 },
  )
  .map((bytes) => String.fromCharCode(...bytes).trim());

/** Without headers that change the framing of a message: protocol-errors.test.ts sends these. */
const headerName = fc.oneof(
  fc.constantFrom(
    'Idempotency-Key',
    'If-None-Match',
    'If-Match',
    'If-Modified-Since',
    'X-Request-Id',
    'traceparent',
    'Accept',
    'Accept-Encoding',
    'Origin',
    'Access-Control-Request-Method',
    'Range',
    'X-Forwarded-For',
    'X-HTTP-Method-Override',
    'Cookie',
    'Expect',
    '__proto__',
  ),
  fc.stringMatching(/^X-[!#$%&'*+.^_`|~0-9A-Za-z-]{1,20}$/),
);

/** Request targets: operations with random queries, changed targets, and random targets. */
const target = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.tuple(fc.constantFrom('/v1/items', '/v1/items/1'), query()).map(join),
  },
  {
    weight: 2,
    arbitrary: fc
      .oneof(fc.bigInt().map(String), visible(30), fc.string().map(encodeURIComponentSafely))
      .map((itemId) => `/v1/items/${itemId}`),
  },
  {
    weight: 2,
    arbitrary: changed(
      fc.constantFrom('/v1/items', '/v1/items/1', '/v1/items?limit=5&status=sold'),
      [...Array.from('/%?#&=.:;\\"<>{}|^`~*+Vv0'), '//', '%2F', '%00', '/../', '/./'],
    ),
  },
  { weight: 1, arbitrary: visible(40).map((text) => `/${text}`) },
);

function query(): fc.Arbitrary<string> {
  const name = fc.oneof(
    { weight: 5, arbitrary: fc.constantFrom('limit', 'status', 'cursor') },
    fc.constantFrom('limit[]', 'status[0]', '__proto__', 'constructor', 'LIMIT', ''),
    visible(8),
  );
  const value = fc.oneof(
    fc.integer({ min: -1, max: 102 }).map(String),
    fc.constantFrom('available', 'pending', 'sold', 'Sold', '', '%00', '%E0%A4%A', '+5', '5%20'),
    fc.base64String({ maxLength: 24 }).map(encodeURIComponent),
    fc.bigInt().map((id) => Buffer.from(`${id}:`).toString('base64url')),
    fc.string().map(encodeURIComponentSafely),
    visible(12),
  );
  return fc
    .array(
      fc.tuple(name, value).map(([field, text]) => `${field}=${text}`),
      { maxLength: 4 },
    )
    .map((pairs) => pairs.join('&'));
}

function join([path, text]: [string, string]): string {
  return text === '' ? path : `${path}?${text}`;
}

function visible(maxLength: number): fc.Arbitrary<string> {
  return fc
    .array(fc.integer({ min: 0x21, max: 0x7e }), { maxLength })
    .map((bytes) => String.fromCharCode(...bytes));
}

/** Lone surrogates cannot be encoded. */
function encodeURIComponentSafely(text: string): string {
  return encodeURIComponent(text.replace(/\p{Surrogate}/gu, ''));
}

/** Returns texts with some characters removed, replaced or inserted. */
function changed(texts: fc.Arbitrary<string>, parts: string[]): fc.Arbitrary<string> {
  const change = fc.record({
    at: fc.nat(),
    remove: fc.integer({ min: 0, max: 3 }),
    insert: fc.oneof(fc.constant(''), fc.constantFrom(...parts)),
  });
  return fc.tuple(texts, fc.array(change, { minLength: 1, maxLength: 4 })).map(([text, changes]) =>
    changes.reduce((result, { at, remove, insert }) => {
      const start = 1 + (at % result.length);
      return result.slice(0, start) + insert + result.slice(start + remove);
    }, text),
  );
}

/** Bodies that resemble a NewPet, random JSON, malformed JSON, and random bytes. */
const bodyBytes = fc.oneof(
  {
    weight: 3,
    arbitrary: fc
      .record(
        {
          name: fc.oneof(fc.string({ unit: codePoint }), fc.jsonValue()),
          categoryId: fc.oneof(fc.maxSafeInteger(), fc.double(), fc.jsonValue()),
          status: fc.oneof(fc.constantFrom('available', 'pending', 'sold'), fc.jsonValue()),
          id: fc.jsonValue(),
        },
        { requiredKeys: [] },
      )
      .map((value) => Buffer.from(JSON.stringify(value))),
  },
  fc.json().map((text) => Buffer.from(text)),
  {
    weight: 2,
    arbitrary: changed(fc.constant('{"name":"Frank","categoryId":9223372036854775807}'), [
      ...Array.from('{}[]",:\\.0-+eE \u0000\uFEFF\u0080'),
      '\\ud800',
      '1e400',
      '['.repeat(33),
      '"__proto__":{"name":1},',
      '9'.repeat(101),
    ]).map((text) => Buffer.from(text)),
  },
  fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
);

const contentType = fc
  .oneof(
    { weight: 6, arbitrary: fc.constant('application/json') },
    fc.constantFrom(
      'application/json; charset=utf-8',
      'application/json; charset=latin1',
      'text/plain',
      'application/problem+json',
      undefined,
    ),
    headerValue,
  )
  .map((value): [string, string][] => (value === undefined ? [] : [['Content-Type', value]]));

const anyBody = bodyBytes
  .chain((bytes) => fc.tuple(contentType, encoded(bytes)))
  .map(([type, { headers, ...body }]) => ({ ...body, headers: [...type, ...headers] }));

export const anyRequest: fc.Arbitrary<FuzzRequest> = fc
  .record({
    method: fc.oneof(
      { weight: 2, arbitrary: fc.constantFrom('GET', 'POST') },
      fc.constantFrom(...METHODS),
    ),
    target,
    headers: fc.array(fc.tuple(headerName, headerValue), { maxLength: 5 }),
    content: fc.option(anyBody, { nil: undefined }),
  })
  .map(({ method, target: path, headers, content }) => ({
    method,
    target: path,
    headers: [...headers, ...(content?.headers ?? [])],
    body: content?.body,
    chunkBytes: content?.chunkBytes,
  }));

export const anyPost: fc.Arbitrary<FuzzRequest> = anyBody.map((content) => ({
  method: 'POST',
  target: '/v1/items',
  ...content,
}));
