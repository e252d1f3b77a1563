import { networkInterfaces } from 'node:os';
import { createDatabase, type TestDatabase } from '../harness/database/database.js';
import { createOwner, createPets } from '../harness/database/factories.js';
import { startService, type TestService } from '../harness/service/service.js';

let database: TestDatabase;
let key: string;
let pet: string;

beforeAll(async () => {
  database = await createDatabase();
  ({ key } = await createOwner(database));
  pet = `/v1/pets/${(await createPets(database, 3))[0]}`;
});
afterAll(() => database.close());

/** Returns the target of a Link header as sent. */
async function linkOf(base: string, path: string, relation: string): Promise<string> {
  const response = await fetch(base + path, { headers: { Authorization: `Bearer ${key}` } });
  expect(response.status).toBe(200);
  const link = /^<([^<>]+)>; rel="([a-z-]+)"$/.exec(String(response.headers.get('link')));
  expect(link?.[2]).toBe(relation);
  return link![1]!;
}

function warnings(service: TestService): unknown[] {
  return service
    .logs()
    .filter(({ level, msg }) => level === 40 && msg?.includes('PUBLIC_URL'))
    .map(({ msg }) => msg);
}

const hasIpv6 = Object.values(networkInterfaces()).some((addresses) =>
  addresses?.some(({ address }) => address === '::1'),
);

describe.each([
  ['127.0.0.1', 'http://127.0.0.1:'],
  ['localhost', 'http://'],
  ...(hasIpv6 ? [['::1', 'http://[::1]:']] : []),
])('without PUBLIC_URL and with HOST=%s', (host, expected) => {
  let service: TestService;
  let base: string;
  beforeAll(async () => {
    service = await startService({ database, env: { HOST: host } });
    base = `http://${host.includes(':') ? `[${host}]` : host}:${service.port}`;
  });
  afterAll(() => service.close());

  test('GET /v1/pets › 200 with an absolute Link that returns the next page', async () => {
    // Parsers such as parse-link-header accept only a URL that is valid without a base.
    const next = new URL(await linkOf(base, '/v1/pets?limit=2', 'next'));

    expect(next.href.startsWith(expected)).toBe(true);
    expect(next).toMatchObject({ port: String(service.port), pathname: '/v1/pets' });
    const page = await fetch(next, { headers: { Authorization: `Bearer ${key}` } });
    expect(await page.json()).toHaveLength(1);
  });

  test('GET /v1/pets/{petId} › 200 with an absolute Link to the successor', async () => {
    const successor = new URL(await linkOf(base, pet, 'successor-version'));

    expect(successor).toMatchObject({ port: String(service.port), pathname: '/v1/pets' });
  });

  test('the start logs no warning', () => {
    expect(warnings(service)).toEqual([]);
  });
});

describe('with HOST=0.0.0.0', () => {
  async function start(env: Record<string, string>): Promise<TestService> {
    return startService({ database, env: { HOST: '0.0.0.0', ...env } });
  }

  test('GET /v1/pets › 200 with a relative Link without PUBLIC_URL, and the start logs one warning', async () => {
    const service = await start({});
    try {
      expect(await linkOf(service.url, '/v1/pets?limit=2', 'next')).toMatch(
        /^\/v1\/pets\?limit=2&cursor=/,
      );
      expect(await linkOf(service.url, pet, 'successor-version')).toBe('/v1/pets');
      expect(warnings(service)).toEqual([
        'PUBLIC_URL is not set: the URLs in Link headers are relative',
      ]);
    } finally {
      await service.close();
    }
  });

  test('GET /v1/pets › 200 with a Link under PUBLIC_URL, and the start logs no warning', async () => {
    const service = await start({ PUBLIC_URL: 'https://api.example.org/store' });
    try {
      expect(await linkOf(service.url, '/v1/pets?limit=2', 'next')).toMatch(
        /^https:\/\/api\.example\.org\/store\/v1\/pets\?limit=2&cursor=/,
      );
      expect(warnings(service)).toEqual([]);
    } finally {
      await service.close();
    }
  });
});
