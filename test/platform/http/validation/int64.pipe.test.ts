import { createItems } from '../../../harness/database/factories.js';
import type { ApiResponse } from '../../../harness/http/client.js';
import { expectError } from '../../../harness/http/error-response.js';
import { useStore } from '../../../harness/http/store.js';

/** The only items, by id. */
const NAMES: Record<string, string> = {
  '9007199254740993': 'Odd',
  '9223372036854775807': 'Last',
  '-9223372036854775808': 'First',
  '0': 'Zero',
  '-5': 'Minus five',
};

const INTEGERS = '999999999 9007199254740992 9223372036854775806 -1'.split(' ');

const store = useStore();

beforeAll(() =>
  store.query(
    `INSERT INTO test_items (id, name, category_id, status) OVERRIDING SYSTEM VALUE
     SELECT key::bigint, value, 1, 'pending' FROM json_each_text($1)`,
    [JSON.stringify(NAMES)],
  ),
);

const get = (itemId: string): Promise<ApiResponse> => store.api.get(`/v1/items/${itemId}`);

describe('GET /v1/items/{itemId}', () => {
  it.each(Object.entries(NAMES))('200 with the item with the id %s', async (itemId, name) => {
    const { status, headers, text } = await get(itemId);

    expect(status).toBe(200);
    expect(text).toBe(`{"id":${itemId},"name":"${name}","categoryId":1,"status":"pending"}`);
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'cache-control': 'private, no-cache',
      vary: 'Authorization',
    });
  });

  it('200 with the current state of the database', async () => {
    const [itemId = ''] = await createItems(store.service.database, 1);
    expect((await get(itemId)).json.status).toBe('available');

    await store.query(`UPDATE test_items SET status = 'sold' WHERE id = $1`, [itemId]);
    expect((await get(itemId)).json.status).toBe('sold');
    await store.query('DELETE FROM test_items WHERE id = $1', [itemId]);
    expect((await get(itemId)).status).toBe(404);
  });

  it.each([
    // Integers that no item has.
    ...INTEGERS,
    // Other notations of 0 and -5.
    ...'00 -0 %2B0 +0 0.0 0e0 0x0 -05 %20-5 -5%20 -5%0A -5%00 %E2%88%925 0n 0,0 0;a=1'.split(' '),
    ...'0%2F %EF%BC%90 9223372036854775808 -9223372036854775809 18446744073709551616'.split(' '),
    '9'.repeat(1_000),
    ...'abc null undefined NaN __proto__ %27 - . %C3%A9'.split(' '),
  ])('404 item_not_found for the id %s', async (itemId) => {
    const response = await get(itemId);

    const hint = INTEGERS.includes(itemId) ? '' : ' An identifier is a 64-bit integer, such as 42.';
    const message = `No item has this identifier.${hint}`;
    expect(expectError(response, 404, 'item_not_found')).toBe(message);
    expect(response.headers).not.toHaveProperty('etag');
  });
});
