import fc from 'fast-check';
import type { ApiResponse } from '../harness/http/client.js';
import { createPets } from '../harness/database/factories.js';
import { changed } from '../harness/fuzz/arbitraries.js';
import { holds } from '../harness/fuzz/property.js';
import { Target } from '../harness/fuzz/target.js';

const STATUSES = ['available', 'pending', 'sold'] as const;
const COUNT = 60;

let target: Target;
let ids: string[];

beforeAll(async () => {
  target = await Target.start();
  ids = await createPets(target.service.database, COUNT, (index) => STATUSES[index % 3] ?? 'sold');
});
afterAll(() => target.close());

function list(query: Record<string, string | number | undefined>): Promise<ApiResponse> {
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined);
  const text = new URLSearchParams(Object.fromEntries(pairs) as Record<string, string>).toString();
  return target.authorized({ method: 'GET', target: `/v1/pets?${text}`, headers: [] });
}

function cursorOf({ headers }: ApiResponse): string | undefined {
  const link = /^<([^>]*)>; rel="next"$/.exec(headers.link as string)?.[1];
  return link === undefined
    ? undefined
    : (new URL(link, 'http://pets').searchParams.get('cursor') ?? undefined);
}

const status = fc.option(fc.constantFrom(...STATUSES), { nil: undefined });
const limit = fc.option(fc.integer({ min: 1, max: 100 }), { nil: undefined });

test('GET /v1/pets › 200: a walk with any status and limits visits every animal once', async () => {
  await holds(fc.tuple(status, fc.array(limit, { minLength: 1 })), async ([filter, limits]) => {
    const visited: number[] = [];
    let cursor: string | undefined;
    for (let page = 0; page === 0 || cursor !== undefined; page++) {
      const response = await list({ status: filter, limit: limits[page % limits.length], cursor });
      visited.push(...(response.json as { id: number }[]).map(({ id }) => id));
      cursor = cursorOf(response);
    }
    const expected = ids.filter((_, index) => !filter || STATUSES[index % 3] === filter);
    expect(visited).toEqual(expected.map(Number));
  });
});

test('GET /v1/pets › 400 invalid_cursor with a cursor that was changed or belongs to another status', async () => {
  const cursors = fc
    .tuple(fc.bigInt({ min: -(2n ** 64n), max: 2n ** 64n }), fc.constantFrom('', ...STATUSES))
    .map(([id, filter]) => Buffer.from(`${id}:${filter}`).toString('base64url'));
  const values = fc.oneof(
    cursors,
    changed(cursors, Array.from('AZaz09-_=+/ \u00e9')),
    fc.string({ unit: 'binary' }),
  );
  await holds(fc.tuple(values, status), async ([cursor, filter]) => {
    const response = await list({ cursor, status: filter });
    const [id = '', cursorStatus] = Buffer.from(cursor, 'base64url').toString().split(':');
    const isValid =
      /^(?:0|-?[1-9]\d*)$/.test(id) &&
      BigInt.asIntN(64, BigInt(id)) === BigInt(id) &&
      cursorStatus === (filter ?? '') &&
      Buffer.from(`${id}:${cursorStatus}`).toString('base64url') === cursor;
    if (isValid) expect(response.status).toBe(200);
    else expect([response.status, response.json.code]).toEqual([400, 'invalid_cursor']);
  });
});
