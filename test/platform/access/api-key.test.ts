import { PRODUCT } from '../../../src/product.js';
import { unknownKey } from '../../harness/database/api-keys.js';
import { createKey } from '../../harness/database/factories.js';
import { type ApiResponse, send } from '../../harness/http/client.js';
import { CHALLENGE, expectError } from '../../harness/http/error-response.js';
import { useStore } from '../../harness/http/store.js';
import { START_MS } from '../../harness/service/service.js';

const ADDRESS_LIMIT = 10_000;
const EARLIER = START_MS - 1;

const store = useStore({ env: { ANONYMOUS_REQUESTS_PER_MINUTE: String(ADDRESS_LIMIT) } });

function authorized(authorization: string, path = '/v1/items'): Promise<ApiResponse> {
  return send(store.service, path, { headers: { Authorization: authorization } });
}

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

function expectMissing(response: ApiResponse): void {
  expect(expectError(response, 401, 'missing_api_key')).toBe(
    'An API key is required. Send it as Authorization: Bearer <API_KEY>, without quotes.',
  );
  expect(response.headers['www-authenticate']).toBe(CHALLENGE);
}

describe('GET /v1/items', () => {
  it.each(['Bearer', 'bearer', 'BEARER', 'bEaReR', 'Bearer   '])(
    '200 with the scheme %j',
    async (scheme) => {
      expect((await authorized(`${scheme} ${store.owner.key}`)).status).toBe(200);
    },
  );

  it.each([
    '',
    'Bearer',
    'Bearer   ',
    'KEY',
    'BearerKEY',
    'Bearer\tKEY',
    'Bearer: KEY',
    'Token KEY',
    'Bearers KEY',
    'xBearer KEY',
    'Basic Bearer KEY',
    'Basic KEY',
    '"Bearer KEY"',
    '"Bearer" KEY',
  ])('401 missing_api_key when Authorization is "%s"', async (authorization) => {
    expectMissing(await authorized(authorization.replace('KEY', store.owner.key)));
  });

  it.each<[query: string, headers: Record<string, string>]>([
    ['', {}],
    ['?api_key=KEY&access_token=KEY&key=KEY&Authorization=Bearer%20KEY', {}],
    ['', { 'X-API-Key': 'KEY', 'Proxy-Authorization': 'Bearer KEY', Cookie: 'access_token=KEY' }],
  ])('401 missing_api_key for a valid key elsewhere: "%s" %j', async (query, headers) => {
    const withKey = (text: string): string => text.replaceAll('KEY', store.owner.key);
    const sent = Object.entries(headers).map(([name, value]) => [name, withKey(value)] as const);
    const options = { headers: Object.fromEntries(sent) };
    expectMissing(await send(store.service, `/v1/items${withKey(query)}`, options));
  });

  const keyOf = async (options: object): Promise<string> =>
    (await createKey(store.database, store.owner.id, options)).key;
  const replaced = (key: string, at: number): string =>
    key.slice(0, at) + (key[at] === 'a' ? 'b' : 'a') + key.slice(at + 1);

  it.each<[string, (key: string) => string | Promise<string>]>([
    ['revoked', () => keyOf({ revokedAtMs: EARLIER })],
    ['expired', () => keyOf({ expiresAtMs: EARLIER })],
    ['expired and revoked', () => keyOf({ expiresAtMs: EARLIER, revokedAtMs: EARLIER })],
    ['too short', (key) => key.slice(0, -1)],
    ['too long', (key) => `${key}0`],
    ['in lower case', (key) => key.toLowerCase()],
    ['with a mistyped character', (key) => replaced(key, 10)],
    ['with a mistyped checksum', (key) => replaced(key, key.length - 1)],
    ['with another prefix', (key) => `other_${key.slice(-36)}`],
    ['given twice', (key) => `${key} ${key}`],
    ['in a list', (key) => `${key}, ${key}`],
    ['in quotes', (key) => `"${key}"`],
    ['in brackets', (key) => `<${key}>`],
    ['with a parameter', (key) => `${key}; realm=x`],
    ['behind a no-break space', (key) => `\u00a0${key}`],
    ['after a second scheme', (key) => `Bearer ${key}`],
    ['its hash', (key) => Buffer.from(key).toString('base64')],
    ['8,000 characters long', (key) => key.padEnd(8_000, 'x')],
  ])('401 with the same response for a key that is %s', async (_, makeKey) => {
    const response = await authorized(`Bearer ${await makeKey(store.owner.key)}`);
    // A valid API key in the query changes nothing.
    const query = `?api_key=${store.owner.key}`;
    const other = await authorized(`Bearer ${unknownKey()}`, `/v1/items${query}`);
    expect(expectError(response, 401, 'invalid_api_key')).toMatch(
      RegExp(
        `^The API key is not valid: .*expired\\. .* ${PRODUCT.keyPrefix} and 36 .*case-sensitive.*Bearer once.*quotes`,
      ),
    );
    expect(response.headers['www-authenticate']).toBe(`${CHALLENGE}, error="invalid_token"`);
    expect(response.text).toBe(other.text);
    expect(stableHeaders(response)).toEqual(stableHeaders(other));
  });
});
