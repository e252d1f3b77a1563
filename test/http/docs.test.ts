import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { send } from '../harness/http/client.js';
import { expectError } from '../harness/http/error-response.js';
import { startService, type TestService } from '../harness/service/service.js';

let service: TestService;

beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

/** Gets the bytes of a body. `send` decodes it as text. */
async function get(
  path: string,
  acceptEncoding?: string,
): Promise<{ headers: IncomingHttpHeaders; bytes: Buffer }> {
  const headers = acceptEncoding === undefined ? {} : { 'Accept-Encoding': acceptEncoding };
  const request = httpRequest({ host: '127.0.0.1', port: service.port, path, headers }).end();
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  return { headers: response.headers, bytes: await buffer(response) };
}

const FILES: [path: string, mediaType: string][] = [
  ['/docs/swagger-ui-bundle.js', 'text/javascript; charset=utf-8'],
  ['/docs/swagger-ui.css', 'text/css; charset=utf-8'],
  ['/docs/page.css', 'text/css; charset=utf-8'],
  ['/docs/start-swagger-ui.js', 'text/javascript; charset=utf-8'],
  ['/docs/favicon-32x32.png', 'image/png'],
];

it.each(FILES)('GET %s › 200, compressed with gzip, as %s', async (path, mediaType) => {
  for (const accepted of [undefined, 'identity', 'gzip, deflate, br, zstd', 'br', 'gzip;q=0']) {
    const { headers, bytes } = await get(path, accepted);
    expect(headers).toMatchObject({
      'content-type': mediaType,
      'content-encoding': 'gzip',
      'content-length': String(bytes.length),
      'cache-control': 'no-cache',
    });
    // Developer tools would load a source map, and get 401.
    expect(gunzipSync(bytes).toString()).toMatch(/^(?![^]*# sourceMappingURL=)[^]/);
  }
});

it('GET /docs/swagger-ui-bundle.js › 200 with the content of the package', async () => {
  const { bytes } = await get('/docs/swagger-ui-bundle.js');
  const file = require.resolve('swagger-ui-dist/swagger-ui-bundle.js');
  expect(gunzipSync(bytes).equals(readFileSync(file))).toBe(true);
});

describe.each(['/docs', '/openapi.json', '/openapi.yaml'])('GET %s', (path) => {
  it.each([
    ['gzip, deflate, br, zstd', 'gzip'],
    ['GZIP', 'gzip'],
    ['*', 'gzip'],
    ['br;q=0.5, gzip;q=0.1', 'gzip'],
    [undefined, undefined],
    ['', undefined],
    ['br', undefined],
    ['gzip;q=0', undefined],
    ['gzip;q=0, *', undefined],
    [',;,;q=1,,', undefined],
    [',gzip;q=0'.repeat(800), undefined],
  ])('200 for Accept-Encoding: %s, with Content-Encoding: %s', async (acceptEncoding, coding) => {
    const { headers, bytes } = await get(path, acceptEncoding);
    expect(headers['content-encoding']).toBe(coding);
    expect(headers.vary).toBe('Accept-Encoding');
    const { bytes: plain } = await get(path);
    expect((coding === 'gzip' ? gunzipSync(bytes) : bytes).equals(plain)).toBe(true);
  });
});

it.each(['/docs', '/openapi.json', '/openapi.yaml', ...FILES.map(([path]) => path)])(
  'HEAD %s › 200 with the headers of GET',
  async (path) => {
    const headers = { 'Accept-Encoding': 'gzip' };
    const found = await get(path, 'gzip');
    const head = await send(service, path, { headers, method: 'HEAD' });
    for (const name of ['content-encoding', 'content-length', 'content-type', 'etag', 'vary']) {
      expect([name, head.headers[name]]).toEqual([name, found.headers[name]]);
    }
  },
);

describe('DOCS=false', () => {
  let silent: TestService;
  beforeAll(async () => {
    silent = await startService({ env: { DOCS: 'false' } });
  });
  afterAll(() => silent.close());

  it.each([
    ...['GET /', 'GET /docs', 'HEAD /docs', 'POST /docs', 'OPTIONS /docs', 'GET /docs/'],
    ...['GET /docs//', 'GET /docs?x=1', 'GET /docs/swagger-ui-bundle.js', 'GET /docs/a/b'],
    ...['GET /openapi.json', 'GET /openapi.yaml'],
  ])('%s › 404 without an API key, not counted', async (line) => {
    const [method = '', path = ''] = line.split(' ');
    const response = await send(silent, path, { method });
    expect(response.status).toBe(404);
    const error = { code: 'route_not_found', message: 'No route matches this path.', status: 404 };
    if (method !== 'HEAD') expect(response.json).toEqual(error);
    expect(response.headers).not.toHaveProperty('x-ratelimit-limit');
  });

  it.each(['/Docs', '/docs.html', '/openapi', '/v1/pets', '/v1/docs'])(
    'GET %s › 401 without an API key',
    async (path) => {
      expectError(await send(silent, path), 401, 'missing_api_key');
    },
  );
});
