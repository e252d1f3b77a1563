import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { hashKey } from '../../../../src/platform/access/key-format.js';
import { keyMakerOf } from '../../../harness/database/api-keys.js';
import { send } from '../../../harness/http/client.js';
import { Relay } from '../../../harness/database/relay.js';
import { expectError } from '../../../harness/http/error-response.js';
import { createOwner, type TestOwner } from '../../../harness/database/factories.js';
import { limitsOf } from '../../../harness/rate-limit/limits.js';
import { MixedLoad, type Sent } from '../../../harness/http/mixed-load.js';
import { findPostgresPrograms } from '../../../harness/database/postgres-programs.js';
import { PostgresServer } from '../../../harness/database/postgres-server.js';
import { Cli } from '../../../harness/processes/command.js';
import { metric } from '../../../harness/service/metrics.js';
import {
  type BuiltService,
  spawnBuiltService,
  startBuiltService,
} from '../../../harness/service/service.js';

/** The response deadline is their sum and half a second. */
const LIMITS = { DATABASE_POOL_WAIT_SECONDS: '3', DATABASE_STATEMENT_TIMEOUT_SECONDS: '3' };
const MAX_RESPONSE_MS = 15_000;
/** A response that waits for the server is later than the maximum. */
const FREEZE_MS = 20_000;
/** Requests that the load has in progress at a time. */
const LOAD_WORKERS = 6;

const programs = findPostgresPrograms();

/** What was asked of /health while a fault lasted. */
interface Health {
  live: Set<number>;
  ready: Set<number>;
}

(programs === undefined ? describe.skip : describe)('when PostgreSQL fails under load', () => {
  const servers: PostgresServer[] = [];
  let server: PostgresServer;
  let relay: Relay;
  let service: BuiltService;
  let owner: TestOwner;

  beforeAll(async () => {
    // As it is delivered: fsync is on.
    server = await PostgresServer.create(programs!, { fsync: 'on' });
    servers.push(server);
    expect(await server.query('SHOW fsync')).toEqual([{ fsync: 'on' }]);
    owner = await createOwner(server.database);
    await server.query(
      `INSERT INTO test_items (name, category_id, status) VALUES ('First', 1, 'sold')`,
    );
    relay = await Relay.open(server.url);
    service = await start();
  });
  afterAll(async () => {
    await service.stop();
    await relay.cut();
    for (const each of servers) await each.remove();
  });

  const start = (): Promise<BuiltService> =>
    startBuiltService({ ...LIMITS, DATABASE_URL: relay.url, MIGRATE_ON_START: 'false' });

  /** Creates `count` valid keys, which no service has cached. */
  async function createKeys(count: number): Promise<string[]> {
    const maker = await keyMakerOf(server);
    const keys = Array.from({ length: count }, () => maker.create());
    await server.query(
      `INSERT INTO api_keys (owner_id, hash, hint, has_proof)
       SELECT $1, decode(hash, 'hex'), '', true FROM unnest($2::text[]) AS hash`,
      [owner.id, keys.map(hashKey)],
    );
    return keys;
  }

  const isReady = async (): Promise<boolean> =>
    (await send(service, '/health/ready')).status === 200;

  /** Asks for the health until the work is done. */
  async function watchHealth(work: () => Promise<void>): Promise<Health> {
    const health: Health = { live: new Set(), ready: new Set() };
    const ended = new AbortController();
    const watching = (async () => {
      while (!ended.signal.aborted) {
        health.live.add((await send(service, '/health/live')).status);
        health.ready.add((await send(service, '/health/ready')).status);
        await sleep(50);
      }
    })();
    try {
      await work();
    } finally {
      ended.abort();
      await watching;
    }
    return health;
  }

  /** Expects what holds for every response, whatever the database does. */
  function expectResponse({ kind, response, ms }: Sent): void {
    expect(ms).toBeLessThan(MAX_RESPONSE_MS);
    if (response.status === 503) {
      expectError(response, 503, 'service_unavailable');
    } else if (kind === 'unmatched') {
      expectError(response, 404, 'route_not_found');
    } else {
      expect(response.status).toBe(kind.endsWith('create') ? 201 : 200);
    }
  }

  /** Compares the table with the responses. Returns how many rows got 201, and 503. */
  async function expectAnimals(
    load: MixedLoad,
  ): Promise<{ acknowledged: number; unacknowledged: number }> {
    const creates = load.sent.filter(({ kind }) => kind.endsWith('create'));
    const names = new Map(creates.map((sent) => [sent.name, sent.response]));
    const rows = await server.query<{ name: string }>(
      `SELECT id::int, name, category_id::int AS "categoryId", status
         FROM test_items WHERE name = ANY ($1)`,
      [[...names.keys()]],
    );
    const stored = new Map(rows.map((row) => [row.name, row]));
    expect(stored.size).toBe(rows.length);
    let acknowledged = 0;
    for (const [name, response] of names) {
      if (response.status !== 201) continue;
      acknowledged++;
      expect(stored.get(name)).toEqual(response.json);
    }
    return { acknowledged, unacknowledged: rows.length - acknowledged };
  }

  async function underLoad(
    fault: (load: MixedLoad) => Promise<void>,
  ): Promise<{ load: MixedLoad; health: Health }> {
    const load = new MixedLoad(service, owner.key, await createKeys(150));
    let health: Health | undefined;
    let wellAtMs = Infinity;
    try {
      await load.untilMoreResponses(50);
      health = await watchHealth(() => fault(load));
      while (!(await isReady())) await sleep(20);
      wellAtMs = performance.now();
      await load.untilMoreResponses(50);
    } finally {
      await load.stop();
    }
    // The service has recovered automatically. A request from during the fault may still be
    // rejected.
    const sentSince = load.sent.filter(({ sentAtMs }) => sentAtMs >= wellAtMs);
    expect(sentSince.length).toBeGreaterThanOrEqual(30);
    for (const { response } of sentSince) expect(response.status).not.toBe(503);
    return { load, health };
  }

  it.each<[string, () => Promise<void>]>([
    [
      'it hangs (SIGSTOP) and goes on after 20 seconds',
      async () => {
        server.freeze();
        // After four seconds, a cached key is refreshed before it is used.
        await sleep(FREEZE_MS);
        server.thaw();
      },
    ],
    [
      'it is killed (SIGKILL) and started again',
      async () => {
        await server.kill();
        await sleep(1_500);
        await server.start();
      },
    ],
  ])(
    'every response is 200, 201 or 503 before the database recovers, and no 201 is lost: %s',
    async (_what, fault) => {
      const { load, health } = await underLoad(fault);
      expect(load.broken).toEqual([]);
      for (const sent of load.sent) expectResponse(sent);
      const rejected = load.sent.filter(({ response }) => response.status === 503);
      expect(rejected.length).toBeGreaterThan(0);
      expect(load.byStatus('list', 'get')[200]).toBeGreaterThan(20);
      expect(load.byStatus('create')[201]).toBeGreaterThan(10);
      expect(load.byStatus('keyed create')[201]).toBeGreaterThan(10);

      // A valid key that cannot be looked up: not 401, and counted nowhere.
      for (const { response } of rejected) {
        const { limit, remaining } = limitsOf(response);
        expect([300, 1_000_000]).toContain(limit);
        // Includes the requests whose API keys are being looked up at the same moment.
        if (limit === 300) expect(remaining).toBeGreaterThanOrEqual(300 - LOAD_WORKERS);
      }

      expect([...health.live]).toEqual([200]);
      expect(health.ready).toContain(503);

      const { acknowledged, unacknowledged } = await expectAnimals(load);
      const creates = load.byStatus('create', 'keyed create');
      expect(acknowledged).toBe(creates[201]);
      // At most those were added whose connection broke before the response.
      expect(unacknowledged).toBeLessThanOrEqual(creates[503] ?? 0);
    },
  );

  it('every 201 of a service that is killed (SIGKILL) is there exactly once', async () => {
    const doomed = await start();
    const load = new MixedLoad(doomed, owner.key, [], ['create', 'keyed create']);
    await load.untilMoreResponses(100);
    const stopped = doomed.stop('SIGKILL');
    await sleep(100);
    await load.stop();
    await stopped;
    expect(load.byStatus('create', 'keyed create')).toEqual({ 201: load.sent.length });
    expect(load.broken.length).toBeGreaterThan(0);
    const { acknowledged } = await expectAnimals(load);
    expect(acknowledged).toBe(load.sent.length);
  });
});

(programs === undefined ? describe.skip : describe)('a standby', () => {
  let server: PostgresServer;
  let empty: string;
  beforeAll(async () => {
    server = await PostgresServer.create(programs!);
    await server.query('CREATE DATABASE empty TEMPLATE template0');
    empty = server.url.replace(/postgres$/, 'empty');
    await server.restartAsStandby();
  });
  afterAll(() => server.remove());

  test('GET /health/ready › 200 and "degraded", because the database accepts no writes', async () => {
    const service = await startBuiltService({ DATABASE_URL: server.url });
    const { status, json } = await send(service, '/health/ready');
    const degraded = { status: 'degraded', checks: { database: 'read-only' } };
    expect([status, json]).toMatchObject([200, degraded]);
    expect(await metric(service, 'ready')).toBe(1);
    expect(await metric(service, 'component_up{component="database"}')).toBe(1);
    expect(await metric(service, 'component_up{component="database_writes"}')).toBe(0);
    await service.stop();
  });

  test('without the schema › the start and db migrate exit with 1 and one line', async () => {
    const error = 'cannot execute CREATE TABLE in a read-only transaction';
    const cli = new Cli({ DATABASE_URL: empty });
    expect(await cli.failure(1, 'db', 'migrate')).toBe(
      `The database is read-only. (25006: ${error})`,
    );
    const service = spawnBuiltService({ DATABASE_URL: empty });
    expect(await once(service.process, 'close')).toEqual([1, null]);
    expect(service.output()).toBe(`DATABASE_URL: ${error}\n`);
  });
});
