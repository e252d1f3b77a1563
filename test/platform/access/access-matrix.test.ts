import { unknownKey } from '../../harness/database/api-keys.js';
import { createKey, createOwner } from '../../harness/database/factories.js';
import { type ApiResponse, send } from '../../harness/http/client.js';
import {
  CHALLENGE,
  expectError,
  expectRateLimitHeaders,
} from '../../harness/http/error-response.js';
import { isUncounted, PUBLIC_PATHS } from '../../harness/http/public-paths.js';
import { useStore } from '../../harness/http/store.js';
import { START_MS } from '../../harness/service/service.js';
import { ERRORS, type ErrorCode } from '../../../src/platform/errors/catalogue.js';

const store = useStore({
  features: 'routes',
  env: { ANONYMOUS_REQUESTS_PER_MINUTE: '1000000', BAN_AFTER_REJECTIONS: '1' },
});

interface Caller {
  name: string;
  authorization?: string;
  /** The error code of this caller's responses, undefined when its API key is accepted. */
  code?: ErrorCode;
}
let callers: Caller[];
/** Method and path of every route, including HEAD and OPTIONS, with values for the parameters. */
let routes: [method: string, path: string][];

beforeAll(async () => {
  const { database, owner } = store;
  const expired = await createKey(database, owner.id, { expiresAtMs: START_MS - 1 });
  const revoked = await createKey(database, owner.id, { revokedAtMs: START_MS - 1 });
  const readOnly = await createKey(database, owner.id, { access: 'read' });
  const banned = await createOwner(database, { limits: { perMinute: 1, perDay: 10 } });
  const wrongEnd = owner.key.slice(0, -1) + (owner.key.endsWith('0') ? '1' : '0');
  callers = [
    { name: 'no key', code: 'missing_api_key' },
    { name: 'another scheme', authorization: `Basic ${owner.key}`, code: 'missing_api_key' },
    ...['not-a-key', wrongEnd, unknownKey(), expired.key, revoked.key].map((key): Caller => ({
      name: key,
      authorization: `Bearer ${key}`,
      code: 'invalid_api_key',
    })),
    { name: 'a banned key', authorization: `Bearer ${banned.key}`, code: 'api_key_banned' },
    { name: 'a valid key', authorization: `Bearer ${owner.key}` },
    {
      name: 'a read-only key',
      authorization: `Bearer ${readOnly.key}`,
      code: 'read_only_api_key',
    },
  ];
  const headers = { Authorization: `Bearer ${banned.key}` };
  for (let count = 0; count < 2; count++) await send(store.service, '/v1/items', { headers });

  const { json } = await store.api.get('/v1/routes');
  expect(json.nestedRouters).toBe(0);
  routes = json.routes.flatMap(({ path, methods }: { path: string; methods: string[] }) => {
    const concrete = path
      .replace('{/}', '/')
      .replace(/\{\*\w+\}|\*\w+/g, 'nothing')
      .replace(/:\w+/g, '1');
    // CONNECT has no path and never reaches the router.
    const served = methods.filter((method) => method !== 'connect');
    const all = [...served, ...(served.includes('get') ? ['head'] : []), 'options'];
    return [...new Set(all)].map((method) => [method.toUpperCase(), concrete]);
  });
});

/** Expects the response that a caller gets from a route. */
function expectAccess(response: ApiResponse, method: string, path: string, caller: Caller): void {
  const isPublic =
    (PUBLIC_PATHS.includes(path) || path === '/v1/routes/open') && /GET|HEAD/.test(method);
  const isCounted = !(isPublic && isUncounted(path));
  const isAllowed =
    caller.code === 'read_only_api_key'
      ? /^(?:GET|HEAD|OPTIONS)$/.test(method) || path === '/nothing'
      : isPublic && caller.code !== 'api_key_banned';
  const code = isAllowed ? undefined : caller.code;
  if (isCounted) expectRateLimitHeaders(response);
  else expect(Object.keys(response.headers).join()).not.toContain('ratelimit');
  if (code === undefined || !isCounted) {
    expect([401, 403, 429]).not.toContain(response.status);
    return;
  }
  expect(response.status).toBe(ERRORS[code].status);
  if (method !== 'HEAD') expectError(response, ERRORS[code].status, code);
  expect(response.headers).toMatchObject(
    response.status === 429
      ? { 'retry-after': expect.stringMatching(/^[1-9]\d*$/) as string }
      : { 'www-authenticate': expect.stringContaining(CHALLENGE) as string },
  );
}

test('every route responds to each caller as the rules require', async () => {
  expect(routes.map((route) => route.join(' '))).toEqual(
    expect.arrayContaining([
      'GET /v1/items',
      'HEAD /v1/items',
      'POST /v1/items',
      'OPTIONS /v1/items',
      'GET /v1/items/1',
      'GET /v1/routes/open',
      'DELETE /nothing',
      'GET /health/live',
      'GET /docs',
    ]),
  );
  for (const [method, path] of routes) {
    await Promise.all(
      callers.map(async (caller) => {
        const { authorization } = caller;
        const headers = authorization === undefined ? {} : { Authorization: authorization };
        const response = await send(store.service, path, { method, headers });
        try {
          expectAccess(response, method, path, caller);
        } catch (cause) {
          throw new Error(`${method} ${path} with ${caller.name}`, { cause });
        }
      }),
    );
  }
});
