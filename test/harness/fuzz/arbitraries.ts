import { brotliCompressSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { type Description, type Operation, type ParameterObject } from '../http/description.js';
import { schemaViolations, type Schema } from '../http/json-schema.js';
import type { FuzzRequest } from './target.js';

const INT64 = { min: -(2n ** 63n), max: 2n ** 63n - 1n };

/** Returns valid values of a schema, with integers as bigint. */
export function valid(schema: Schema, resolve: Description['resolve']): fc.Arbitrary<unknown> {
  if (schema.$ref !== undefined) return valid(resolve(schema.$ref) as Schema, resolve);
  if (schema.allOf?.[0]) return valid(schema.allOf[0], resolve);
  if (schema.enum) return fc.constantFrom(...schema.enum);
  switch (schema.type) {
    case 'integer':
      return fc.bigInt({
        min: BigInt(schema.minimum ?? INT64.min),
        max: BigInt(schema.maximum ?? INT64.max),
      });
    case 'string':
      return validString(schema);
    case 'object':
      return validObject(schema, resolve);
    default:
      throw new Error(`no generator for ${JSON.stringify(schema)}`);
  }
}

function validString(schema: Schema): fc.Arbitrary<string> {
  const { pattern, minLength = 0, maxLength = 255 } = schema;
  if (pattern !== undefined && schema.maxLength === undefined) {
    return fc.stringMatching(new RegExp(pattern, 'u'));
  }
  const units = ['grapheme', 'binary', 'binary-ascii'] as const;
  return fc
    .oneof(...units.map((unit) => fc.string({ unit, minLength, maxLength, size: 'medium' })))
    .filter((text) => schemaViolations(text, schema, () => undefined).length === 0);
}

function validObject(
  { properties = {}, required = [] }: Schema,
  resolve: Description['resolve'],
): fc.Arbitrary<object> {
  const members = Object.entries(properties).map(
    ([name, schema]) => [name, valid(schema, resolve)] as const,
  );
  return fc.record(Object.fromEntries(members), { requiredKeys: required });
}

/**
 * Returns JSON of a value with random order of members, escapes, white space and number formats.
 */
export function jsonOf(value: object): fc.Arbitrary<string> {
  const members = Object.entries(value).map(([name, member]) =>
    fc.tuple(stringNotation(name), valueNotation(member)).map((parts) => parts.join(':')),
  );
  return fc
    .tuple(fc.tuple(...members), fc.constantFrom(',', ' , ', ',\n\t'))
    .chain(([parts, comma]) =>
      fc
        .shuffledSubarray(parts, { minLength: parts.length })
        .map((shuffled) => `{${shuffled.join(comma)}}`),
    );
}

function valueNotation(value: unknown): fc.Arbitrary<string> {
  if (typeof value !== 'bigint') return stringNotation(String(value));
  const notations = [`${value}`, `${value}.0`, `${value}e0`, `${value}.000e+0`];
  // JSON has no leading zeros.
  return fc.constantFrom(...notations, ...(value === 0n ? [] : [`${value}00E-2`]));
}

function stringNotation(text: string): fc.Arbitrary<string> {
  const escaped = Array.from({ length: text.length }, (_, index) =>
    text.charCodeAt(index).toString(16).padStart(4, '0'),
  );
  return fc.constantFrom(
    JSON.stringify(text),
    `"${escaped.map((digits) => `\\u${digits}`).join('')}"`,
  );
}

/** An encoded body with its Content-Encoding header. */
export interface EncodedBody {
  headers: [string, string][];
  body: Buffer;
  chunkBytes: number | undefined;
}

/** Returns the body in each coding and framing that the service accepts. */
export function encoded(body: Buffer): fc.Arbitrary<EncodedBody> {
  return fc
    .record({
      coding: fc.constantFrom<[[string, string][], Buffer]>(
        [[], body],
        [[['content-encoding', 'Identity']], body],
      ),
      chunkBytes: fc.option(fc.integer({ min: 1, max: 64 }), { nil: undefined }),
    })
    .map(({ coding: [headers, bytes], chunkBytes }) => ({ headers, body: bytes, chunkBytes }));
}

/** Returns the body in codings that the service does not accept or that contradict the header. */
function wronglyEncoded(body: Buffer): fc.Arbitrary<EncodedBody> {
  return fc
    .record({
      coding: fc.constantFrom('gzip', 'br', 'deflate', 'identity', 'gzip, br', 'zstd', ''),
      bytes: fc.constantFrom(body, gzipSync(body), brotliCompressSync(body)),
      chunkBytes: fc.option(fc.integer({ min: 1, max: 64 }), { nil: undefined }),
    })
    .map(({ coding, bytes, chunkBytes }) => ({
      headers: [['Content-Encoding', coding] as [string, string]],
      body: bytes,
      chunkBytes,
    }));
}

/** Returns valid requests to an operation, without its API key, cursor and If-None-Match. */
export function validRequest(
  description: Description,
  name: string,
): fc.Arbitrary<{ request: FuzzRequest; content: Record<string, unknown> | undefined }> {
  const operation = description.operation(name);
  const [method = '', template = ''] = name.split(' ');
  return fc
    .tuple(validParameters(description, operation), validContent(description, operation))
    .map(([parameters, { content, body }]) => {
      const of = (place: ParameterObject['in']): [string, string][] =>
        parameters
          .filter(([parameter]) => parameter.in === place)
          .map(([parameter, value]) => [parameter.name, value]);
      const path = of('path').reduce(
        (text, [field, value]) => text.replace(`{${field}}`, encodeURIComponent(value)),
        template,
      );
      const query = new URLSearchParams(of('query')).toString();
      const request = {
        method,
        target: `/v1${path}${query && `?${query}`}`,
        headers: [...of('header'), ...(body?.headers ?? [])],
        body: body?.body,
        chunkBytes: body?.chunkBytes,
      };
      return { request, content };
    });
}

/** These values come from responses, so no schema can generate them. */
const FROM_RESPONSES = ['cursor', 'If-None-Match'];

function validParameters(
  description: Description,
  { parameters }: Operation,
): fc.Arbitrary<[ParameterObject, string][]> {
  const chosen = parameters
    .map((parameter) => description.resolved(parameter))
    .filter(({ name }) => !FROM_RESPONSES.includes(name))
    .map((parameter) => {
      const values =
        parameter.in === 'header' && parameter.schema.pattern === undefined
          ? fc.stringMatching(/^[!-~]([ -~]{0,30}[!-~])?$/)
          : valid(parameter.schema, description.resolve);
      const pairs = values.map((value): [ParameterObject, string] => [parameter, String(value)]);
      return parameter.required ? pairs : fc.option(pairs, { nil: undefined });
    });
  return fc.tuple(...chosen).map((pairs) => pairs.filter((pair) => pair !== undefined));
}

interface ValidContent {
  content: Record<string, unknown> | undefined;
  body: EncodedBody | undefined;
}

function validContent(
  description: Description,
  { requestBody }: Operation,
): fc.Arbitrary<ValidContent> {
  const media = requestBody?.content['application/json'];
  if (!media) return fc.constant({ content: undefined, body: undefined });
  return valid(media.schema, description.resolve).chain((content) =>
    jsonOf(content as object)
      .chain((text) => encoded(Buffer.from(text)))
      .map(({ headers, ...body }) => ({
        content: content as Record<string, unknown>,
        body: { ...body, headers: [['Content-Type', 'application/json'], ...headers] },
      })),
  );
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

/** Without headers that change the framing of a message: raw-messages.test.ts sends these. */
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
  { weight: 4, arbitrary: fc.tuple(fc.constantFrom('/v1/pets', '/v1/pets/1'), query()).map(join) },
  {
    weight: 2,
    arbitrary: fc
      .oneof(fc.bigInt().map(String), visible(30), fc.string().map(encodeURIComponentSafely))
      .map((petId) => `/v1/pets/${petId}`),
  },
  {
    weight: 2,
    arbitrary: changed(fc.constantFrom('/v1/pets', '/v1/pets/1', '/v1/pets?limit=5&status=sold'), [
      ...Array.from('/%?#&=.:;\\"<>{}|^`~*+Vv0'),
      '//',
      '%2F',
      '%00',
      '/../',
      '/./',
    ]),
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
export function changed(texts: fc.Arbitrary<string>, parts: string[]): fc.Arbitrary<string> {
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
          name: fc.oneof(fc.string({ unit: 'binary' }), fc.jsonValue()),
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
      '[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[',
      '"__proto__":{"name":1},',
      '9'.repeat(101),
    ]).map((text) => Buffer.from(text)),
  },
  fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
);

const contentType = fc.oneof(
  { weight: 6, arbitrary: fc.constant<[string, string][]>([['Content-Type', 'application/json']]) },
  fc.constantFrom<[string, string][]>(
    [],
    [['Content-Type', 'application/json; charset=utf-8']],
    [['Content-Type', 'application/json; charset=latin1']],
    [['Content-Type', 'text/plain']],
    [['Content-Type', 'application/problem+json']],
  ),
  headerValue.map((value): [string, string][] => [['Content-Type', value]]),
);

const anyBody = bodyBytes
  .chain((bytes) =>
    fc.tuple(
      contentType,
      fc.oneof({ weight: 3, arbitrary: encoded(bytes) }, wronglyEncoded(bytes)),
    ),
  )
  .map(([type, { headers, ...body }]) => ({ ...body, headers: [...type, ...headers] }));

/** Random requests in valid HTTP. */
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

/** Random bodies for `POST /v1/pets`. */
export const anyPost: fc.Arbitrary<FuzzRequest> = anyBody.map((content) => ({
  method: 'POST',
  target: '/v1/pets',
  ...content,
}));
