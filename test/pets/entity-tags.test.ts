import { ApiClient } from '../harness/http/client.js';
import { createOwner, createPets } from '../harness/database/factories.js';
import { startService, type TestService } from '../harness/service/service.js';

let service: TestService;
let api: ApiClient;
let ids: string[];

beforeAll(async () => {
  service = await startService();
  api = new ApiClient(service, (await createOwner(service.database)).key);
});

beforeEach(async () => {
  await service.database.query('TRUNCATE pets RESTART IDENTITY CASCADE');
  ids = await createPets(service.database, 4);
});

afterAll(() => service.close());

async function tagOf(path: string): Promise<string> {
  const { status, headers } = await api.get(path);
  expect(status).toBe(200);
  return headers.etag!;
}

const ROUTES = [
  ['/v1/pets', '/v1/pets?limit=2'],
  ['/v1/pets/{petId}', '/v1/pets/1'],
] as const;

describe.each(ROUTES)('GET %s', (_route, path) => {
  it('200 with a strong ETag that is the same for every caller while nothing changes', async () => {
    const tag = await tagOf(path);
    const other = new ApiClient(service, (await createOwner(service.database)).key);

    expect(tag).toMatch(/^"[\x21\x23-\x7e]+"$/);
    expect(await tagOf(path)).toBe(tag);
    expect((await other.get(path)).headers.etag).toBe(tag);
  });

  it.each([
    ['the tag', (tag: string) => tag],
    ['the tag as a weak one', (tag: string) => `W/${tag}`],
    ['*', () => '*'],
    ['* with white space', () => ' * '],
    ['a list with the tag first', (tag: string) => `${tag}, "other"`],
    ['a list with the tag last', (tag: string) => `"other", W/"another",${tag}`],
    ['a list with the tag as a weak one', (tag: string) => `"other" ,\tW/${tag} , "another"`],
    ['a list with empty elements', (tag: string) => `, ,${tag},`],
    ['a list with commas in a tag', (tag: string) => `"a,b", ${tag}`],
  ])('304 without a body when If-None-Match is %s', async (_what, ifNoneMatch) => {
    const full = await api.get(path);
    const tag = full.headers.etag!;
    const response = await api.get(path, { 'If-None-Match': ifNoneMatch(tag) });

    expect(response).toMatchObject({ status: 304, text: '' });
    expect(response.headers).toMatchObject({
      etag: tag,
      link: full.headers.link,
      'cache-control': 'private, no-cache',
      vary: 'Authorization',
    });
    expect(response.headers).not.toHaveProperty('content-length');
    expect(response.headers).not.toHaveProperty('content-type');
  });

  it('304 when the tag is in the second of two headers', async () => {
    const response = await api.send(path, {
      headers: { 'If-None-Match': ['"other"', await tagOf(path)] },
    });

    expect(response.status).toBe(304);
  });

  it.each([
    ['another tag', () => '"other"'],
    ['a list of others', () => '"a", W/"b", "c"'],
    ['an empty tag', () => '""'],
    ['empty', () => ''],
    ['the tag without quotes', (tag: string) => tag.slice(1, -1)],
    ['the tag without its last quote', (tag: string) => tag.slice(0, -1)],
    ['the tag cut short', (tag: string) => `${tag.slice(0, -2)}"`],
    ['the tag lengthened', (tag: string) => `${tag.slice(0, -1)}x"`],
    ['the tag within another', (tag: string) => `"x${tag.slice(1, -1)}x"`],
    ['the tag in capitals', (tag: string) => tag.toUpperCase()],
    ['* in quotes', () => '"*"'],
  ])('200 when If-None-Match is %s', async (_what, ifNoneMatch) => {
    const response = await api.get(path, { 'If-None-Match': ifNoneMatch(await tagOf(path)) });

    expect(response.status).toBe(200);
    expect(response.text).not.toBe('');
  });

  it('200 with a different ETag after the animal changes', async () => {
    const tag = await tagOf(path);
    for (const change of [
      `name = 'Other'`,
      'category_id = 9223372036854775807',
      'category_id = 9223372036854775806',
      `status = 'sold'`,
    ]) {
      const before = await tagOf(path);
      await service.database.query(`UPDATE pets SET ${change} WHERE id = 1`);

      const response = await api.get(path, { 'If-None-Match': `${tag}, ${before}` });
      expect(response.status).toBe(200);
      expect(response.headers.etag).not.toBe(before);
    }
  });

  it('200 with the same ETag after a change that the response does not contain', async () => {
    const tag = await tagOf(path);
    await service.database.query('UPDATE pets SET created_by_key_id = 77, created_at = now()');

    expect(await tagOf(path)).toBe(tag);
  });
});

describe.each(ROUTES)('HEAD %s', (_route, path) => {
  it('304 when If-None-Match has the ETag of a GET', async () => {
    const tag = await tagOf(path);
    const head = await api.send(path, { method: 'HEAD', headers: { 'If-None-Match': tag } });

    expect(head).toMatchObject({ status: 304, text: '' });
    expect(head.headers.etag).toBe(tag);
  });
});

describe('GET /v1/pets', () => {
  it('200 with a different ETag when only the Link changes', async () => {
    const path = '/v1/pets?limit=4';
    const alone = await api.get(path);
    await createPets(service.database, 1);
    const followed = await api.get(path, { 'If-None-Match': alone.headers.etag! });

    expect(followed.status).toBe(200);
    expect(followed.text).toBe(alone.text);
    expect(followed.headers.etag).not.toBe(alone.headers.etag);

    await service.database.query('DELETE FROM pets WHERE id > $1', [ids.at(-1)]);
    expect(await tagOf(path)).toBe(alone.headers.etag);
  });

  it('304 when an animal was added on another page', async () => {
    const tag = await tagOf('/v1/pets?limit=2');
    await createPets(service.database, 1);

    expect((await api.get('/v1/pets?limit=2', { 'If-None-Match': tag })).status).toBe(304);
  });

  it('304 while an empty page stays empty, then 200', async () => {
    const path = '/v1/pets?status=sold';
    const tag = await tagOf(path);
    expect((await api.get(path, { 'If-None-Match': tag })).status).toBe(304);

    await createPets(service.database, 1, () => 'sold');
    expect((await api.get(path, { 'If-None-Match': tag })).status).toBe(200);
  });

  it('400, not 304, when the limit is wrong', async () => {
    expect((await api.get('/v1/pets?limit=0', { 'If-None-Match': '*' })).status).toBe(400);
  });
});

describe('GET /v1/pets/{petId}', () => {
  it('404, not 304, when no animal has the id', async () => {
    expect((await api.get('/v1/pets/999999999', { 'If-None-Match': '*' })).status).toBe(404);
  });
});

describe('POST /v1/pets', () => {
  it('201, not 304, whatever If-None-Match', async () => {
    const response = await api.post(
      '/v1/pets',
      { name: 'Frank', categoryId: 7 },
      { 'If-None-Match': '*' },
    );

    expect(response.status).toBe(201);
    expect(response.headers).not.toHaveProperty('etag');
  });
});
