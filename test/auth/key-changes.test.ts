import { type ApiResponse, ApiClient } from '../harness/http/client.js';
import { createKey, createOwner, type TestOwner } from '../harness/database/factories.js';
import {
  askUntil,
  DAY_MS,
  sequentially,
  limitsOf,
  notifyChange,
  SECOND_MS,
} from '../harness/rate-limit/limits.js';
import { START_MS, startService, type TestService } from '../harness/service/service.js';

let service: TestService;

beforeAll(async () => {
  service = await startService({ env: { BAN_AFTER_REJECTIONS: '2', BAN_SECONDS: '3600' } });
});
afterAll(() => service.close());

/** A request that needs no query of the animals. */
function asks(key: string): () => Promise<ApiResponse> {
  const client = new ApiClient(service, key);
  return () => client.get('/v1/nothing');
}

interface Change {
  name: string;
  prepare?: (ask: () => Promise<ApiResponse>) => Promise<unknown>;
  /** $1 is the owner's id, $2 the key's. */
  sql: string;
  holds: (response: ApiResponse) => boolean;
}

const REVOKE = 'UPDATE api_keys SET revoked_at = now() WHERE owner_id = $1 AND id = $2';

const changes: Change[] = [
  { name: 'a revocation', sql: REVOKE, holds: ({ status }) => status === 401 },
  {
    name: 'an expiry',
    sql: `UPDATE api_keys SET expires_at = '${new Date(START_MS).toISOString()}' WHERE owner_id = $1 AND id = $2`,
    holds: ({ status }) => status === 401,
  },
  {
    name: 'another plan',
    sql: `UPDATE owners SET plan = 'business', limit_per_minute = NULL, limit_per_day = NULL
           WHERE id = $1 AND $2 > 0`,
    holds: (response) => limitsOf(response).limit === 1_000,
  },
  {
    name: 'another limit',
    sql: 'UPDATE owners SET limit_per_minute = 7 WHERE id = $1 AND $2 > 0',
    holds: (response) => limitsOf(response).limit === 7,
  },
  {
    name: 'an unban',
    prepare: (ask) => sequentially(22, ask),
    sql: 'UPDATE api_keys SET unban_count = unban_count + 1 WHERE owner_id = $1 AND id = $2',
    holds: ({ json }) => json.code === 'rate_limit_exceeded' || json.code === 'route_not_found',
  },
];

describe.each(changes)('a request after $name', ({ prepare, sql, holds }) => {
  let owner: TestOwner;
  let ask: () => Promise<ApiResponse>;

  beforeEach(async () => {
    owner = await createOwner(service.database, { limits: { perMinute: 20, perDay: 1_000_000 } });
    ask = asks(owner.key);
    await ask();
    await prepare?.(ask);
    expect(holds(await ask())).toBe(false);
  });

  const change = (): Promise<unknown> => service.database.query(sql, [owner.id, owner.keyId]);

  it('applies it at once when it is notified', async () => {
    await change();
    await notifyChange(service.database, owner.id);
    await expect(askUntil(ask, holds)).resolves.toMatchObject({});
  });

  it('applies it after five seconds when it is not', async () => {
    await change();
    await service.advance(5 * SECOND_MS);
    expect(holds(await ask())).toBe(true);
  });
});

it('a change that is not notified does not cause a lookup for every request', async () => {
  const owner = await createOwner(service.database);
  const ask = asks(owner.key);
  await ask();
  await service.database.query(REVOKE, [owner.id, owner.keyId]);
  await service.advance(2 * SECOND_MS);
  expect((await sequentially(5, ask)).status).toBe(404);
});

it('a plan change applies to every key of the owner', async () => {
  const owner = await createOwner(service.database, { plan: 'free' });
  const other = await createKey(service.database, owner.id);
  await asks(owner.key)();
  await asks(other.key)();
  await service.database.query(`UPDATE owners SET plan = 'pro' WHERE id = $1`, [owner.id]);
  await notifyChange(service.database, owner.id);
  for (const { key } of [owner, other]) {
    await expect(
      askUntil(asks(key), (response) => limitsOf(response).limit === 300),
    ).resolves.toMatchObject({});
  }
});

it.each(['', 'owner', '-1', '1.5', '99999999999999999999'])(
  'a malformed notification (%j) invalidates all keys',
  async (payload) => {
    const owner = await createOwner(service.database);
    const ask = asks(owner.key);
    await ask();
    await service.database.query(REVOKE, [owner.id, owner.keyId]);
    await service.database.query(`SELECT pg_notify('key_changes', $1)`, [payload]);
    await expect(askUntil(ask, ({ status }) => status === 401)).resolves.toMatchObject({});
  },
);

it('changes without a LISTEN connection apply after the reconnection', async () => {
  const owner = await createOwner(service.database);
  const ask = asks(owner.key);
  await ask();
  await service.database.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND application_name = 'pets key changes'`,
  );
  await service.database.query(REVOKE, [owner.id, owner.keyId]);
  await expect(askUntil(ask, ({ status }) => status === 401)).resolves.toMatchObject({});
});

it('a key is valid until the millisecond of its expiry', async () => {
  const owner = await createOwner(service.database);
  const expiresAtMs = service.nowMs() + 1_500;
  const ask = asks((await createKey(service.database, owner.id, { expiresAtMs })).key);
  expect((await ask()).status).toBe(404);
  await service.setClock(expiresAtMs - 1);
  expect((await ask()).status).toBe(404);
  await service.setClock(expiresAtMs);
  expect(await ask()).toMatchObject({ status: 401, json: { code: 'invalid_api_key' } });
});

it('after a rotation, both keys share one budget until the overlap ends', async () => {
  const owner = await createOwner(service.database, { limits: { perMinute: 100, perDay: 100 } });
  const overlapEndsAtMs = service.nowMs() + DAY_MS;
  const [old, successor] = [
    asks((await createKey(service.database, owner.id, { expiresAtMs: overlapEndsAtMs })).key),
    asks((await createKey(service.database, owner.id, { firstKeyId: owner.keyId })).key),
  ];
  expect(limitsOf(await old()).remaining).toBe(99);
  expect(limitsOf(await successor()).remaining).toBe(98);
  await service.setClock(overlapEndsAtMs - 1);
  expect(limitsOf(await old()).remaining).toBe(97);
  await service.setClock(overlapEndsAtMs);
  expect((await old()).status).toBe(401);
  expect((await successor()).status).toBe(404);
});
