import type { ApiResponse } from '../harness/http/client.js';
import { expectError } from '../harness/http/error-response.js';
import { useStore } from '../harness/http/store.js';
import { animalText, createPets } from '../harness/database/animals.js';

const STATUSES = ['available', 'pending', 'sold'] as const;

const store = useStore({ app: true });
let ids: string[];

beforeAll(async () => {
  ids = await createPets(store.database, 70, (index) => STATUSES[index % 2]!);
});

const list = (query = ''): Promise<ApiResponse> => store.api.get(`/v1/pets${query}`);
const idsOf = ({ json }: ApiResponse): string[] => json.map(({ id }: { id: number }) => String(id));

describe('GET /v1/pets', () => {
  it('200 with the properties of an animal in their order, and nothing else', async () => {
    const { text } = await list('?limit=1');
    expect(text).toBe(`[${animalText({ id: ids[0]!, name: 'Pet 1', categoryId: 1 })}]`);
  });

  it('200 with the first 20 animals by id', async () => {
    const response = await list();
    expect([response.status, idsOf(response)]).toEqual([200, ids.slice(0, 20)]);
  });

  it('200 with the animals of a status only, and an empty array when there are none', async () => {
    const pending = ids.filter((_, index) => index % 2 === 1);
    expect(idsOf(await list('?status=pending&limit=30'))).toEqual(pending.slice(0, 30));
    expect(await list('?status=sold')).toMatchObject({ status: 200, text: '[]' });
  });

  it.each([
    ['', 70],
    ['&status=available', 35],
  ])('the Links lead through all animals in the order of their ids: %s', async (filter, count) => {
    const walked: string[] = [];
    for (let path: string | undefined = `/v1/pets?limit=12${filter}`; path;) {
      const page: ApiResponse = await store.api.get(path);
      walked.push(...idsOf(page));
      path = /\/v1[^>]+(?=>; rel="next")/.exec(String(page.headers.link))?.[0];
    }
    expect(walked).toHaveLength(count);
    expect(walked).toEqual(ids.filter((id) => walked.includes(id)));
  });

  it('400 with the rules of the parameters', async () => {
    expect(expectError(await list('?status=lost&limit=101'), 400, 'invalid_request')).toBe(
      'limit must be an integer from 1 to 100; status must be one of available, pending, sold.',
    );
    expectError(await list('?cursor=none'), 400, 'invalid_cursor');
  });
});
