import { ApiClient, send, type RequestOptions } from '../harness/http/client.js';
import { expectError } from '../harness/http/error-response.js';
import { createOwner } from '../harness/database/factories.js';
import { startService, type TestService } from '../harness/service/service.js';
import type { ErrorCode } from '../../src/platform/errors/catalogue.js';

const LARGE = Buffer.alloc(102_401, 'a');
const BAD_FORM = { 'Idempotency-Key': 'not one' };
const JSON_TYPE = { 'Content-Type': 'application/json' };

let service: TestService;
let key: string;
/** Its owner is over the limit. */
let spentKey: string;

beforeAll(async () => {
  service = await startService({ env: { BAN_AFTER_REJECTIONS: '0' } });
  ({ key } = await createOwner(service.database));
  ({ key: spentKey } = await createOwner(service.database, {
    limits: { perMinute: 1, perDay: 10 },
  }));
  await new ApiClient(service, spentKey).get('/v1/pets');
});
afterAll(() => service.close());

type Key = 'spent' | 'none' | 'bad' | 'good';

// Each request fails the check that its title names first, and all later checks.
test.each<
  [title: string, status: number, code: ErrorCode, as: Key, path: string, options: RequestOptions]
>([
  ['limit before path', 429, 'rate_limit_exceeded', 'spent', '/v1/nope', {}],
  ['limit before method', 429, 'rate_limit_exceeded', 'spent', '/v1/pets', { method: 'DELETE' }],
  [
    'limit before body',
    429,
    'rate_limit_exceeded',
    'spent',
    '/v1/pets',
    { method: 'POST', body: LARGE },
  ],
  ['API key before path', 401, 'missing_api_key', 'none', '/v1/nope', {}],
  [
    'API key before method',
    401,
    'invalid_api_key',
    'bad',
    '/v1/pets',
    { method: 'DELETE', body: LARGE },
  ],
  ['API key before OPTIONS', 401, 'missing_api_key', 'none', '/v1/pets', { method: 'OPTIONS' }],
  [
    'API key before body',
    401,
    'missing_api_key',
    'none',
    '/v1/pets',
    { method: 'POST', body: LARGE },
  ],
  ['API key before parameters', 401, 'missing_api_key', 'none', '/v1/pets?limit=0', {}],
  ['API key before the animal', 401, 'missing_api_key', 'none', '/v1/pets/1', {}],
  [
    'path before media type',
    404,
    'route_not_found',
    'good',
    '/v1/nope',
    { method: 'POST', body: LARGE },
  ],
  [
    'method before media type',
    405,
    'method_not_allowed',
    'good',
    '/v1/pets',
    { method: 'PUT', body: LARGE },
  ],
  [
    'method before parameters',
    405,
    'method_not_allowed',
    'good',
    '/v1/pets?limit=0',
    { method: 'PUT' },
  ],
  [
    'API key before the format of Idempotency-Key',
    401,
    'missing_api_key',
    'none',
    '/v1/pets',
    { method: 'POST', headers: BAD_FORM, body: LARGE },
  ],
  [
    'path before the format of Idempotency-Key',
    404,
    'route_not_found',
    'good',
    '/v1/nope',
    { method: 'POST', headers: BAD_FORM, body: LARGE },
  ],
  [
    'method before the format of Idempotency-Key',
    405,
    'method_not_allowed',
    'good',
    '/v1/pets',
    { method: 'PUT', headers: BAD_FORM, body: LARGE },
  ],
  [
    'format of Idempotency-Key before media type',
    400,
    'invalid_request',
    'good',
    '/v1/pets',
    { method: 'POST', headers: BAD_FORM, body: LARGE },
  ],
  [
    'media type before size',
    415,
    'unsupported_media_type',
    'good',
    '/v1/pets',
    { method: 'POST', body: LARGE },
  ],
  [
    'encoding before size',
    415,
    'unsupported_media_type',
    'good',
    '/v1/pets',
    { method: 'POST', headers: { ...JSON_TYPE, 'Content-Encoding': 'zstd' }, body: LARGE },
  ],
  [
    'size before JSON',
    413,
    'payload_too_large',
    'good',
    '/v1/pets',
    { method: 'POST', headers: JSON_TYPE, body: LARGE },
  ],
  [
    'JSON before its fields',
    400,
    'malformed_json',
    'good',
    '/v1/pets',
    { method: 'POST', headers: JSON_TYPE, body: '{"name":1' },
  ],
])('%s: %i %s', async (_title, status, code, as, path, options) => {
  const keys = { spent: spentKey, none: undefined, bad: 'aas_x', good: key };
  expectError(await new ApiClient(service, keys[as]).send(path, options), status, code);
});

test('the limit of an address before the API key', async () => {
  const limited = await startService({
    database: service.database,
    env: { ANONYMOUS_REQUESTS_PER_MINUTE: '1' },
  });
  expectError(await send(limited, '/v1/pets'), 401, 'missing_api_key');
  expectError(await send(limited, '/v1/nope'), 429, 'rate_limit_exceeded');
  await limited.close();
});
