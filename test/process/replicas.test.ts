import { setTimeout as sleep } from 'node:timers/promises';
import { type ApiResponse, ApiClient, send } from '../harness/http/client.js';
import { createDatabase, type TestDatabase } from '../harness/database/database.js';
import { DatabaseRelay } from '../harness/database/database-relay.js';
import { createOwner, type TestOwner } from '../harness/database/factories.js';
import { sequentially, limitsOf, notifyChange } from '../harness/rate-limit/limits.js';
import { type BuiltService, startBuiltService } from '../harness/service/service.js';

const EFFECTIVE_WITHIN_MS = 5_000;
const LISTENING = 'pets key changes';

let database: TestDatabase;
let relay: DatabaseRelay;
/** The LISTEN connection of the second one is ended once. The third one cannot open another one. */
let replicas: BuiltService[] = [];

beforeAll(async () => {
  database = await createDatabase({ template: 'template0' });
  relay = await DatabaseRelay.open(database.url);
  const env = { DATABASE_URL: database.url, BAN_SECONDS: '3600', BAN_AFTER_REJECTIONS: '2' };
  replicas = await Promise.all([
    startBuiltService(env),
    startBuiltService(env),
    startBuiltService({ ...env, DATABASE_DIRECT_URL: relay.url }),
  ]);
});
afterAll(async () => {
  await Promise.all(replicas.map((replica) => replica.stop()));
  await relay.cut();
  await database.close();
});

test('replicas that start together on an empty database are all ready, and one of them has migrated it', async () => {
  for (const replica of replicas) {
    expect((await send(replica, '/health/ready')).status).toBe(200);
  }
  const ran = replicas.flatMap((replica) =>
    replica.logs().filter(({ msg }) => msg === 'schema migrated'),
  );
  const rows = await database.query<{ name: string }>('SELECT name FROM migrations ORDER BY id');
  expect(ran.map(({ migrations }) => migrations)).toEqual([rows.map(({ name }) => name)]);
});

interface Change {
  name: string;
  /** $1 is the owner's id. */
  sql: string;
  limits: { perMinute: number; perDay: number };
  requestsBefore: number;
  holds: (response: ApiResponse) => boolean;
}

const CHANGES: readonly Change[] = [
  {
    name: 'a revocation',
    sql: 'UPDATE api_keys SET revoked_at = now() WHERE owner_id = $1',
    limits: { perMinute: 1_000, perDay: 1_000 },
    requestsBefore: 1,
    holds: ({ status }) => status === 401,
  },
  {
    name: 'another plan',
    sql: `UPDATE owners SET plan = 'business', limit_per_minute = NULL, limit_per_day = NULL WHERE id = $1`,
    limits: { perMinute: 500, perDay: 500 },
    requestsBefore: 1,
    holds: (response) => limitsOf(response).limit === 1_000,
  },
  {
    name: 'an unban',
    sql: 'UPDATE api_keys SET unban_count = unban_count + 1 WHERE owner_id = $1',
    limits: { perMinute: 1, perDay: 1_000 },
    requestsBefore: 4,
    holds: ({ json }) => json.code === 'rate_limit_exceeded',
  },
];

test('a revocation, a plan change and an unban take effect on every replica within 5 seconds, with or without its LISTEN connection', async () => {
  const owners: TestOwner[] = [];
  for (const { limits, requestsBefore, holds } of CHANGES) {
    const owner = await createOwner(database, { limits });
    owners.push(owner);
    for (const replica of replicas) {
      expect(holds(await sequentially(requestsBefore, () => ask(replica, owner)))).toBe(false);
    }
  }
  await relay.cut();
  await database.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND application_name = $1 AND pid <> (
        SELECT min(pid) FROM pg_stat_activity
         WHERE datname = current_database() AND application_name = $1)`,
    [LISTENING],
  );
  for (const [index, { sql }] of CHANGES.entries()) {
    await database.query(sql, [owners[index]!.id]);
    await notifyChange(database, owners[index]!.id);
  }
  const changedAt = performance.now();
  const late: string[] = [];
  await Promise.all(
    CHANGES.flatMap(({ name, holds }, index) =>
      replicas.map(async (replica, number) => {
        while (!holds(await ask(replica, owners[index]!))) {
          if (performance.now() - changedAt > EFFECTIVE_WITHIN_MS) {
            late.push(`${name} on replica ${number}`);
            return;
          }
          await sleep(100);
        }
      }),
    ),
  );
  expect(late).toEqual([]);
  // The first one still listens, the second one again, and the third one cannot.
  const listening = await database.query(
    'SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = $1',
    [LISTENING],
  );
  expect(listening).toHaveLength(2);
});

/** Sends a request whose response needs no animals. */
function ask(replica: BuiltService, { key }: TestOwner): Promise<ApiResponse> {
  return new ApiClient(replica, key).get('/v1/nothing');
}
