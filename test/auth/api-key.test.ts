import { unknownKey } from '../harness/database/api-keys.js';
import { type ApiResponse, ApiClient, send } from '../harness/http/client.js';
import { createKey, createOwner, type TestOwner } from '../harness/database/factories.js';
import { limitsOf } from '../harness/rate-limit/limits.js';
import { START_MS, startService, type TestService } from '../harness/service/service.js';

const ADDRESS_LIMIT = 10_000;

let service: TestService;
let owner: TestOwner;

beforeAll(async () => {
  service = await startService({ env: { ANONYMOUS_REQUESTS_PER_MINUTE: String(ADDRESS_LIMIT) } });
  owner = await createOwner(service.database);
});
afterAll(() => service.close());

function authorized(authorization: string, path = '/v1/pets'): Promise<ApiResponse> {
  return send(service, path, { headers: { Authorization: authorization } });
}

describe('GET /v1/pets', () => {
  it.each(['Bearer', 'bearer', 'BEARER', 'bEaReR', 'Bearer   '])(
    '200 with the scheme %j',
    async (scheme) => {
      expect((await authorized(`${scheme} ${owner.key}`)).status).toBe(200);
    },
  );

  it('401 missing_api_key without Authorization', async () => {
    const response = await send(service, '/v1/pets');
    expect(response.json).toEqual({
      code: 'missing_api_key',
      message: 'An API key is required. Send it as Authorization: Bearer <API_KEY>.',
      status: 401,
    });
    expect(response.headers['www-authenticate']).toBe('Bearer realm="pets"');
  });

  const noBearerToken: [string, (key: string) => string][] = [
    ['nothing', () => ''],
    ['the scheme alone', () => 'Bearer'],
    ['the scheme and spaces', () => 'Bearer   '],
    ['the key alone', (key) => key],
    ['no space after the scheme', (key) => `Bearer${key}`],
    ['a tab after the scheme', (key) => `Bearer\t${key}`],
    ['a colon after the scheme', (key) => `Bearer: ${key}`],
    ['another scheme', (key) => `Token ${key}`],
    ['another scheme before it', (key) => `Basic Bearer ${key}`],
    ['Basic', (key) => `Basic ${Buffer.from(`${key}:`).toString('base64')}`],
  ];
  it.each(noBearerToken)(
    '401 missing_api_key when Authorization is %s',
    async (_, authorization) => {
      const response = await authorized(authorization(owner.key));
      expect(response).toMatchObject({
        status: 401,
        json: { code: 'missing_api_key', status: 401 },
      });
      expect(response.headers['www-authenticate']).toBe('Bearer realm="pets"');
    },
  );

  const elsewhere: [string, (key: string) => [string, Record<string, string>]][] = [
    ['api_key in the query', (key) => [`?api_key=${key}`, {}]],
    ['access_token in the query', (key) => [`?access_token=${key}`, {}]],
    ['key in the query', (key) => [`?key=${key}`, {}]],
    ['Authorization in the query', (key) => [`?Authorization=Bearer%20${key}`, {}]],
    ['X-API-Key', (key) => ['', { 'X-API-Key': key }]],
    ['Proxy-Authorization', (key) => ['', { 'Proxy-Authorization': `Bearer ${key}` }]],
    ['a cookie', (key) => ['', { Cookie: `access_token=${key}` }]],
  ];
  it.each(elsewhere)('401 missing_api_key for a valid key as %s', async (_, place) => {
    const [query, headers] = place(owner.key);
    const response = await send(service, `/v1/pets${query}`, { headers });
    expect(response).toMatchObject({ status: 401, json: { code: 'missing_api_key' } });
  });

  it('401 for an invalid key, even with a valid key in the query', async () => {
    const response = await authorized(`Bearer ${unknownKey()}`, `/v1/pets?api_key=${owner.key}`);
    expect(response).toMatchObject({ status: 401, json: { code: 'invalid_api_key' } });
  });

  const invalid: [string, (key: string) => string | Promise<string>][] = [
    ['unknown', () => unknownKey()],
    [
      'revoked',
      async () => (await createKey(service.database, owner.id, { revokedAtMs: START_MS - 1 })).key,
    ],
    [
      'expired',
      async () => (await createKey(service.database, owner.id, { expiresAtMs: START_MS - 1 })).key,
    ],
    [
      'expired and revoked',
      async () =>
        (
          await createKey(service.database, owner.id, {
            expiresAtMs: START_MS - 1,
            revokedAtMs: START_MS - 1,
          })
        ).key,
    ],
    ['one character', () => 'x'],
    ['too short', (key) => key.slice(0, -1)],
    ['too long', (key) => `${key}0`],
    ['in lower case', (key) => key.toLowerCase()],
    [
      'with a mistyped character',
      (key) => key.slice(0, 10) + (key[10] === 'a' ? 'b' : 'a') + key.slice(11),
    ],
    ['with a mistyped checksum', (key) => key.slice(0, -1) + (key.endsWith('a') ? 'b' : 'a')],
    ['with another prefix', (key) => key.replace('aas_', 'sk_')],
    ['without its prefix', (key) => key.slice(4)],
    ['given twice', (key) => `${key} ${key}`],
    ['in a list', (key) => `${key}, ${key}`],
    ['in quotes', (key) => `"${key}"`],
    ['with a parameter', (key) => `${key}; realm=pets`],
    ['behind a no-break space', (key) => `\u00a0${key}`],
    ['after a second scheme', (key) => `Bearer ${key}`],
    ['its hash', (key) => Buffer.from(key).toString('base64')],
    ['8,000 characters long', () => 'aas_'.repeat(2_000)],
  ];
  it.each(invalid)('401 with the same response for a key that is %s', async (_, makeKey) => {
    const [response, other] = [
      await authorized(`Bearer ${await makeKey(owner.key)}`),
      await authorized(`Bearer ${unknownKey()}`),
    ];
    expect(response.status).toBe(401);
    expect(response.text).toBe(
      '{"code":"invalid_api_key","message":"The API key is not valid.","status":401}',
    );
    expect(response.headers['www-authenticate']).toBe('Bearer realm="pets", error="invalid_token"');
    expect(stableHeaders(response)).toEqual(stableHeaders(other));
  });

  it('401 without delay for 15,000 spaces in a token', async () => {
    const startedAt = performance.now();
    for (let time = 0; time < 5; time++) {
      expect((await authorized(`Bearer x${' '.repeat(15_000)}y`)).status).toBe(401);
    }
    expect(performance.now() - startedAt).toBeLessThan(1_500);
  });

  it('401 for any number of keys sets the rate limit headers of the address', async () => {
    const before = limitsOf(await send(service, '/v1/pets'));
    const after = limitsOf(await authorized(`Bearer ${unknownKey()}`));
    expect(after).toEqual({ ...before, limit: ADDRESS_LIMIT, remaining: before.remaining - 1 });
  });
});

const anything = [
  ['GET', '/v1/pets'],
  ['GET', '/v1/pets/1'],
  ['GET', '/v1/pets?limit=0'],
  ['POST', '/v1/pets'],
  ['OPTIONS', '/v1/pets'],
  ['DELETE', '/v1/pets'],
  ['PUT', '/v1/pets/1'],
  ['GET', '/v1/pets/'],
  ['GET', '/v1/nothing'],
  ['GET', '/v1/%ff'],
  ['GET', '/nothing'],
] as const;
describe.each(anything)('%s %s', (method, path) => {
  it('401 without a key', async () => {
    const response = await send(service, path, { method });
    expect(response).toMatchObject({ status: 401, json: { code: 'missing_api_key' } });
    expect(limitsOf(response).limit).toBe(ADDRESS_LIMIT);
  });

  it('401 with an invalid one', async () => {
    const response = await new ApiClient(service, unknownKey()).send(path, { method });
    expect(response).toMatchObject({ status: 401, json: { code: 'invalid_api_key' } });
    expect(limitsOf(response).limit).toBe(ADDRESS_LIMIT);
  });
});

it('HEAD /v1/pets › 401 with the headers of GET', async () => {
  const [head, get] = [
    await send(service, '/v1/pets', { method: 'HEAD' }),
    await send(service, '/v1/pets'),
  ];
  expect(head).toMatchObject({ status: 401, text: '' });
  expect(stableHeaders(head)).toEqual(stableHeaders(get));
});

/** The headers as sent, without those that differ between two responses to the same request. */
function stableHeaders({ rawHeaders }: ApiResponse): string[] {
  const lines: string[] = [];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!;
    const varies = /^(date|x-request-id|x-ratelimit-remaining|ratelimit)$/i.test(name);
    lines.push(varies ? name : `${name}: ${rawHeaders[at + 1]}`);
  }
  return lines;
}
