import { ApiClient } from '../../../harness/http/client.js';
import { createItems, createOwner } from '../../../harness/database/factories.js';
import { useStore } from '../../../harness/http/store.js';

const store = useStore();
let ids: string[];

beforeEach(async () => {
  await store.database.empty('test_items');
  ids = await createItems(store.service.database, 4);
});

async function tagOf(path: string): Promise<string> {
  const { status, headers } = await store.api.get(path);
  expect(status).toBe(200);
  return headers.etag!;
}

const getIf = (path: string, ifNoneMatch: string | string[], method = 'GET') =>
  store.api.send(path, { method, headers: { 'If-None-Match': ifNoneMatch } });

describe.each([
  ['/v1/items', '/v1/items?limit=2'],
  ['/v1/items/{itemId}', '/v1/items/1'],
])('GET %s', (_route, path) => {
  it('200 with a strong ETag that is the same for every caller while nothing changes', async () => {
    const tag = await tagOf(path);
    const other = new ApiClient(store.service, (await createOwner(store.service.database)).key);
    // The response does not contain this.
    await store.query('UPDATE test_items SET created_by_key_id = 77');

    expect(tag).toMatch(/^"[\w-]{20,}"$/);
    expect(await tagOf(path)).toBe(tag);
    expect((await other.get(path)).headers.etag).toBe(tag);
  });

  it.each<string | string[]>([
    'TAG',
    'W/TAG',
    '*',
    '\t* ',
    'TAG, "other"',
    '"other", W/"another",TAG',
    ', ,TAG,',
    '"other" ,\tW/TAG , "another"',
    '"a,b", TAG',
    '"", TAG',
    '"\u00e9", TAG',
    ['"other"', 'TAG'],
  ])('304 without a body when If-None-Match is %j with its ETag', async (form) => {
    const full = await store.api.get(path);
    const tag = full.headers.etag!;
    for (const method of ['GET', 'HEAD']) {
      const known = [form].flat().map((value) => value.replace('TAG', tag));
      const response = await getIf(path, known, method);

      expect(response).toMatchObject({ status: 304, text: '' });
      expect(response.headers).toMatchObject({
        etag: tag,
        link: full.headers.link,
        'cache-control': 'private, no-cache',
        vary: 'Authorization',
      });
      expect(response.headers).not.toHaveProperty('content-length');
      expect(response.headers).not.toHaveProperty('content-type');
    }
  });

  it.each([
    '"other"',
    '"a", W/"b", "c"',
    '""',
    '',
    '"*"',
    '**',
    '*, "x"',
    'OPAQUE',
    '"OPAQUE',
    'OPAQUE"',
    '"OPAQUEx"',
    '"xOPAQUEx"',
    '"x,OPAQUE"',
    "'OPAQUE'",
    '"CUT"',
    '"CAPITALS"',
  ])('200 when If-None-Match is %j', async (form) => {
    const opaque = (await tagOf(path)).slice(1, -1);
    const other = form.replace('OPAQUE', opaque).replace('CUT', opaque.slice(1));
    const response = await getIf(path, other.replace('CAPITALS', opaque.toUpperCase()));

    expect(response.status).toBe(200);
    expect(response.text).not.toBe('');
  });

  it('200 with a different ETag after each change of the item', async () => {
    const tags = [await tagOf(path)];
    for (const change of [
      `name = 'Other'`,
      'category_id = 9223372036854775807',
      'category_id = 9223372036854775806',
      `status = 'sold'`,
    ]) {
      await store.query(`UPDATE test_items SET ${change} WHERE id = 1`);

      const { status, headers } = await getIf(path, tags.join(', '));
      expect(status).toBe(200);
      tags.push(headers.etag!);
    }
    expect(new Set(tags).size).toBe(5);
  });
});

describe('GET /v1/items', () => {
  it('200 with a different ETag when only the Link changes', async () => {
    const path = '/v1/items?limit=4';
    const alone = await store.api.get(path);
    await createItems(store.service.database, 1);
    const followed = await getIf(path, alone.headers.etag!);

    expect([followed.status, followed.text]).toEqual([200, alone.text]);
    expect(followed.headers.etag).not.toBe(alone.headers.etag);

    await store.query('DELETE FROM test_items WHERE id > $1', [ids.at(-1)]);
    expect(await tagOf(path)).toBe(alone.headers.etag);
  });

  it('304 while an empty page stays empty, then 200', async () => {
    const path = '/v1/items?status=sold';
    const tag = await tagOf(path);
    expect((await getIf(path, tag)).status).toBe(304);

    await createItems(store.service.database, 1, () => 'sold');
    expect((await getIf(path, tag)).status).toBe(200);
  });
});

it.each([
  [400, 'GET', '/v1/items?limit=0'],
  [404, 'GET', '/v1/items/999999999'],
  [201, 'POST', '/v1/items'],
])('%i, not 304, for %s %s with If-None-Match: *', async (status, method, path) => {
  const headers = { 'Content-Type': 'application/json', 'If-None-Match': '*' };
  const body = method === 'POST' ? '{"name":"Frank","categoryId":7}' : undefined;
  const response = await store.api.send(path, { method, headers, body });

  expect(response.status).toBe(status);
  expect(response.headers).not.toHaveProperty('etag');
});
