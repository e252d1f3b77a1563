import { unknownKey } from '../database/api-keys.js';
import { ERRORS, type ErrorCode } from '../../../src/platform/errors/catalogue.js';
import { createKey, createOwner } from '../database/factories.js';
import { START_MS, type TestService } from '../service/service.js';
import { type ApiResponse, ApiClient, send } from './client.js';
import { isUncounted, PUBLIC_PATHS } from './public-paths.js';

const RATE_LIMIT_HEADERS = [
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
  'ratelimit',
  'ratelimit-policy',
];

export interface Route {
  method: string;
  path: string;
}

export interface Caller {
  name: string;
  headers: Record<string, string>;
  /** The error code of this caller's responses, undefined when its API key is accepted. */
  code: ErrorCode | undefined;
}

/** Returns every route, including HEAD and OPTIONS, with values for its path parameters. */
export async function routesOf(service: TestService, key: string): Promise<Route[]> {
  const { json } = await new ApiClient(service, key).get('/v1/routes');
  expect(json.nestedRouters).toBe(0);
  const routes = new Map<string, Route>();
  for (const { path, methods } of json.routes as { path: string; methods: string[] }[]) {
    const concrete = path
      .replace('{/}', '/')
      .replace(/\{\*\w+\}|\*\w+/g, 'nothing')
      .replace(/:\w+/g, '1');
    // CONNECT has no path and never reaches the router.
    const served = methods.filter((method) => method !== 'connect');
    for (const method of [...served, ...(served.includes('get') ? ['head'] : []), 'options']) {
      const route = { method: method.toUpperCase(), path: concrete };
      routes.set(`${route.method} ${route.path}`, route);
    }
  }
  return [...routes.values()];
}

/** Returns a caller for each kind of valid and invalid API key. Creates their owners. */
export async function callersOf({ database }: TestService): Promise<Caller[]> {
  const owner = await createOwner(database);
  const expired = await createKey(database, owner.id, { expiresAtMs: START_MS - 1 });
  const revoked = await createKey(database, owner.id, { revokedAtMs: START_MS - 1 });
  const banned = await createOwner(database, { limits: { perMinute: 1, perDay: 10 } });
  const wrongChecksum = owner.key.slice(0, -1) + (owner.key.endsWith('0') ? '1' : '0');
  const withKey = (name: string, key: string, code: ErrorCode | undefined): Caller => ({
    name,
    headers: { Authorization: `Bearer ${key}` },
    code,
  });
  return [
    { name: 'no key', headers: {}, code: 'missing_api_key' },
    {
      name: 'a key in another scheme',
      headers: { Authorization: `Basic ${owner.key}` },
      code: 'missing_api_key',
    },
    withKey('a malformed key', 'not-a-key', 'invalid_api_key'),
    withKey('a key with a wrong checksum', wrongChecksum, 'invalid_api_key'),
    withKey('an unknown key', unknownKey(), 'invalid_api_key'),
    withKey('an expired key', expired.key, 'invalid_api_key'),
    withKey('a revoked key', revoked.key, 'invalid_api_key'),
    withKey('a banned key', banned.key, 'api_key_banned'),
    withKey('a valid key', owner.key, undefined),
  ];
}

/** Sends two requests over the limit, which causes the ban with BAN_AFTER_REJECTIONS=1. */
export async function ban(service: TestService, { headers }: Caller): Promise<void> {
  for (let count = 0; count < 2; count++) await send(service, '/v1/pets', { headers });
}

/** Returns the mistakes in the response to a caller that the guards must reject before the route. */
function rejectionDefects(response: ApiResponse, isHead: boolean, code: ErrorCode): string[] {
  const status = ERRORS[code].status;
  const defects: string[] = [];
  if (response.status !== status) defects.push(`status ${response.status} instead of ${status}`);
  else if (!isHead && !(isError(response) && response.json.code === code)) {
    defects.push(`body ${response.text}`);
  }
  if (status === 401 && !response.headers['www-authenticate']?.startsWith('Bearer realm="pets"')) {
    defects.push('no WWW-Authenticate');
  }
  if (status === 429 && !/^[1-9]\d*$/.test(response.headers['retry-after'] ?? '')) {
    defects.push('no Retry-After');
  }
  return defects;
}

/** Sends requests of all callers to all routes. Returns one line per response that breaks a rule. */
export async function accessDefects(
  service: TestService,
  routes: Route[],
  callers: Caller[],
): Promise<string[]> {
  const defects: string[][] = [];
  for (const route of routes) {
    defects.push(
      ...(await Promise.all(callers.map((caller) => cellDefects(service, route, caller)))),
    );
  }
  return defects.flat();
}

async function cellDefects(
  service: TestService,
  { method, path }: Route,
  { name, headers, code }: Caller,
): Promise<string[]> {
  const isPublic = PUBLIC_PATHS.includes(path) && (method === 'GET' || method === 'HEAD');
  const isHead = method === 'HEAD';
  const counts = !(isPublic && isUncounted(path));
  const isRejected = isPublic ? counts && code === 'api_key_banned' : code !== undefined;
  const response = await send(service, path, { method, headers });
  const defects: string[] = [];
  if (isRejected && code) defects.push(...rejectionDefects(response, isHead, code));
  else if ([401, 403, 429].includes(response.status)) defects.push(`status ${response.status}`);
  else if (!isPublic && !isHead && response.status >= 400 && !isError(response)) {
    defects.push('no Error');
  }
  const carried = RATE_LIMIT_HEADERS.filter((header) => header in response.headers);
  if (carried.length !== (counts ? RATE_LIMIT_HEADERS.length : 0)) {
    defects.push(`rate limit headers: ${carried.join(', ') || 'none'}`);
  }
  return defects.map((defect) => `${method} ${path} with ${name}: ${defect}`);
}

function isError({ json, status }: ApiResponse): boolean {
  return Object.keys(json ?? {}).join() === 'code,message,status' && json.status === status;
}
