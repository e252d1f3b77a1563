import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { request as httpRequest } from 'node:http';
import { type ApiResponse, send } from '../harness/http/client.js';
import { expectError } from '../harness/http/error-response.js';
import { askUntil, limitsOf } from '../harness/rate-limit/limits.js';
import { RawConnection } from '../harness/http/raw-connection.js';
import { startService, type TestService } from '../harness/service/service.js';

const LARGEST = '/docs/swagger-ui-bundle.js';

let service: TestService;

beforeAll(async () => {
  service = await startService({
    env: {
      TRUST_PROXY: '1',
      MAX_DOCS_DOWNLOADS: '4',
      STALLED_CONNECTION_TIMEOUT_SECONDS: '2',
      CORS_ORIGINS: 'https://app.example.org',
    },
  });
});
afterAll(() => service.close());

/** Returns the bytes of the body. `send` decodes it as text. */
function bytesOf(path: string, headers: Record<string, string>): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const request = httpRequest({ host: '127.0.0.1', port: service.port, path, headers });
    request.on('error', reject).on('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => resolve(Buffer.concat(chunks)));
    });
    request.end();
  });
}

function get(path: string, acceptEncoding?: string): Promise<ApiResponse> {
  const headers = acceptEncoding === undefined ? {} : { 'Accept-Encoding': acceptEncoding };
  return send(service, path, { headers });
}

describe('GET /docs and its files › 200 in the coding that the client prefers', () => {
  it.each<[acceptEncoding: string | undefined, coding: string | undefined]>([
    [undefined, undefined],
    ['', undefined],
    ['identity', undefined],
    ['gzip, deflate, br, zstd', 'br'],
    ['GZIP', 'gzip'],
    ['deflate', undefined],
    ['*', 'br'],
    ['br;q=0.5, gzip', 'gzip'],
    ['br;q=0, *', 'gzip'],
    ['gzip ; q=0.2 , br ; q=0.1', 'gzip'],
    ['br;q=0.1, identity;q=0.2', undefined],
    ['br;q=0, gzip;q=0', undefined],
    ['identity;q=0', undefined],
    ['br;q=1.5, gzip;q=0.001', 'gzip'],
    ['br;q=x, gzip;x', undefined],
    [',;,;q=1,,', undefined],
  ])('Accept-Encoding: %s', async (acceptEncoding, coding) => {
    const { status, headers } = await get(LARGEST, acceptEncoding);
    expect([status, headers['content-encoding']]).toEqual([200, coding]);
    expect(headers.vary).toBe('Origin, Accept-Encoding');
  });

  it('a long Accept-Encoding', async () => {
    const { status, headers } = await get(LARGEST, ',gzip;q=0'.repeat(1_000));
    expect([status, headers['content-encoding']]).toEqual([200, undefined]);
  });

  it.each(['/docs', LARGEST, '/docs/swagger-ui.css', '/openapi.json', '/openapi.yaml'])(
    '%s is the same in every coding, with an entity tag for each',
    async (path) => {
      const plain = await bytesOf(path, { 'Accept-Encoding': 'identity' });
      const gzip = await bytesOf(path, { 'Accept-Encoding': 'gzip' });
      const brotli = await bytesOf(path, { 'Accept-Encoding': 'br' });
      expect(gunzipSync(gzip).equals(plain)).toBe(true);
      expect(brotliDecompressSync(brotli).equals(plain)).toBe(true);
      expect(gzip.length).toBeLessThan(plain.length);
      expect(brotli.length).toBeLessThan(gzip.length);

      const tags = [];
      for (const coding of ['identity', 'gzip', 'br'])
        tags.push((await get(path, coding)).headers.etag);
      expect(new Set(tags).size).toBe(3);
      for (const [index, status] of [200, 200, 304].entries()) {
        const headers = { 'Accept-Encoding': 'br', 'If-None-Match': tags[index] ?? '' };
        const response = await send(service, path, { headers });
        expect(response.status).toBe(status);
        expect(response.headers.etag).toBe(tags[2]);
        expect(response.headers.vary).toContain('Accept-Encoding');
      }
    },
  );

  it('HEAD has the headers of GET', async () => {
    const headers = { 'Accept-Encoding': 'br' };
    const found = await send(service, LARGEST, { headers });
    const head = await send(service, LARGEST, { headers, method: 'HEAD' });
    for (const name of ['content-encoding', 'content-length', 'etag', 'vary']) {
      expect(head.headers[name]).toBe(found.headers[name]);
    }
  });

  it('/docs/favicon-32x32.png is not compressed again', async () => {
    const { headers } = await get('/docs/favicon-32x32.png', 'br, gzip');
    expect(headers).not.toHaveProperty('content-encoding');
    expect(headers.vary).toBe('Origin');
  });
});

describe('MAX_DOCS_DOWNLOADS', () => {
  const connections: RawConnection[] = [];
  afterAll(() => connections.forEach((connection) => connection.close()));

  /** Returns a function that requests one more download on a connection that is never read. */
  async function unreadDownloads(address: string): Promise<() => void> {
    const connection = await RawConnection.open(service);
    connections.push(connection);
    connection.socket.pause();
    return () =>
      connection.write(
        `GET ${LARGEST} HTTP/1.1\r\nHost: pets\r\nX-Forwarded-For: ${address}\r\n\r\n`,
      );
  }

  const probe = (address: string): Promise<ApiResponse> =>
    send(service, '/docs', { method: 'GET', headers: { 'X-Forwarded-For': address } });

  it('GET /docs › 503 while an address has a quarter of the downloads, 200 for others', async () => {
    const download = await unreadDownloads('192.0.2.1');
    const { response } = await askUntil(
      () => {
        download();
        return probe('192.0.2.1');
      },
      ({ status }) => status === 503,
    );
    expectError(response, 503, 'service_unavailable');
    expect(response.headers['retry-after']).toMatch(/^[1-9]\d*$/);
    expect(limitsOf(response)).toMatchObject({ limit: 300, remaining: 300 });
    expect((await probe('192.0.2.2')).status).toBe(200);
    const line = await service.waitForLog(
      ({ requestId, level }) => requestId === response.headers['x-request-id'] && level === 40,
    );
    expect(line).toMatchObject({ code: 'service_unavailable', cause: 'MAX_DOCS_DOWNLOADS' });
  });

  it('GET /docs › 503 for every address while all downloads are taken, 200 after they have ended', async () => {
    const addresses = ['192.0.2.1', '192.0.2.3', '2001:db8::1', '2001:db8:0:1::1'];
    const downloads = await Promise.all(addresses.map(unreadDownloads));
    const ask = (): Promise<ApiResponse> => probe('192.0.2.9');
    await askUntil(
      () => {
        for (const download of downloads) download();
        return ask();
      },
      ({ status }) => status === 503,
    );
    // Other requests are served.
    expect((await send(service, '/health/live')).status).toBe(200);
    expect((await send(service, '/v1/pets')).status).toBe(401);
    // The limit on stalled connections closes them, because the clients neither read nor close.
    await askUntil(ask, ({ status }) => status === 200, 20_000);
  });

  it('GET /docs › the addresses of an IPv6 network share a quarter', async () => {
    const download = await unreadDownloads('2001:db8:0:2::1');
    await askUntil(
      () => {
        download();
        return probe('2001:db8:0:2::ffff');
      },
      ({ status }) => status === 503,
    );
  });
});
