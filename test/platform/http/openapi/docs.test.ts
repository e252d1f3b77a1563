import { PRODUCT } from '../../../../src/product.js';
import { ApiClient, send } from '../../../harness/http/client.js';
import { expectError, expectRateLimitHeaders } from '../../../harness/http/error-response.js';
import { useStore } from '../../../harness/http/store.js';
import { startService } from '../../../harness/service/service.js';

const BUNDLE = '/docs/swagger-ui-bundle.js';
const FILES: [path: string, mediaType: string][] = [
  [BUNDLE, 'text/javascript; charset=utf-8'],
  ['/docs/swagger-ui.css', 'text/css; charset=utf-8'],
  ['/docs/page.css', 'text/css; charset=utf-8'],
  ['/docs/start-swagger-ui.js', 'text/javascript; charset=utf-8'],
  ['/docs/favicon-32x32.png', 'image/png'],
];
const PAGES: [path: string, mediaType: string][] = [
  ['/docs', 'text/html; charset=utf-8'],
  ['/openapi.json', 'application/json'],
  ['/openapi.yaml', 'application/yaml'],
];
const REDIRECTS = ['/', '/docs/'];
const STAGING = 'https://staging.example.org';
const PATHS = [...FILES, ...PAGES].map(([path]) => path).concat(REDIRECTS);

const store = useStore({ env: { ANONYMOUS_REQUESTS_PER_MINUTE: '1000' } });

it.each([...FILES, ...PAGES])('GET %s › 200 without an API key, as %s', async (path, type) => {
  const response = await store.anonymous.get(path);
  expect([response.status, response.headers['content-type']]).toEqual([200, type]);
  expectRateLimitHeaders(response);
  const { status, text } = await store.anonymous.send(path, { method: 'HEAD' });
  expect([status, text]).toEqual([200, '']);
});

it('GET / and /docs/ › 302 to the page, with the path of PUBLIC_URL if it is set', async () => {
  const env = { PUBLIC_URL: 'https://api.example.org/store', STAGING_URL: STAGING };
  const public_ = await startService({ database: store.database, env });
  for (const [service, location, targets] of [
    [store.service, '/docs', ''],
    [public_, '/store/docs', ` https://api.example.org/store/ ${STAGING}/`],
  ] as const) {
    for (const path of REDIRECTS) {
      expect(await send(service, path)).toMatchObject({ status: 302, headers: { location } });
    }
    const { headers } = await send(service, '/docs');
    expect(headers['content-security-policy']).toMatch(new RegExp(`connect-src 'self'${targets}$`));
  }
  await public_.close();
});

it.each([
  ['GET', '/docs//', 404],
  ['GET', '/docs/index.html', 404],
  ['GET', '/docs/swagger-ui.js', 404],
  ['GET', '/openapi.json/', 404],
  ['POST', '/docs', 405],
  ['POST', BUNDLE, 405],
])('%s %s › 401 without an API key, %i with one', async (method, path, status) => {
  expectError(await store.anonymous.send(path, { method }), 401, 'missing_api_key');
  expect((await store.api.send(path, { method })).status).toBe(status);
});

it('GET /docs › loads files of this origin only, and its policy forbids others', async () => {
  const { headers, text } = await store.anonymous.get('/docs');
  expect(headers).toMatchObject({ 'referrer-policy': 'no-referrer', 'cache-control': 'no-store' });
  expect(headers['content-security-policy']).toMatch(
    /^default-src 'none'; script-src 'self'; style-src 'self';(?!.*(?:unsafe|\*|https?:))/,
  );
  const loaded = [...text.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, url = '']) => `/${url}`);
  expect(loaded.toSorted()).toEqual(FILES.map(([path]) => path).toSorted());
  expect(text).toContain(`<code>${PRODUCT.command} keys issue</code>`);
  expect(text).not.toMatch(RegExp(`${PRODUCT.keyPrefix}|demo`));
});

it('requests for the documentation are counted for the client address: 429 over its limit', async () => {
  const env = { ANONYMOUS_REQUESTS_PER_MINUTE: String(PATHS.length) };
  const limited = await startService({ database: store.database, env });
  for (const path of PATHS) expect((await send(limited, path)).status).toBeLessThan(400);
  for (const path of PATHS) expectError(await send(limited, path), 429, 'rate_limit_exceeded');
  expect((await send(limited, '/health/live')).status).toBe(200);
  await limited.close();
});

it('with DOCS=false, their paths › 404 without an API key, counted', async () => {
  const silent = await startService({ database: store.database, env: { DOCS: 'false' } });
  for (const path of PATHS) {
    for (const method of ['GET', 'POST']) {
      const response = await send(silent, path, { method });
      expect(expectError(response, 404, 'route_not_found')).not.toMatch(/openapi|docs/);
      expectRateLimitHeaders(response);
    }
  }
  const { json } = await new ApiClient(silent, store.owner.key).get('/health');
  expect(json.message).toMatch(/no trailing slash\.$/);
  await silent.close();
});
