import { randomBytes } from 'node:crypto';
import { hashKey } from '../../src/platform/access/key-format.js';
import { unknownKey } from '../harness/database/api-keys.js';
import { type ApiResponse, ApiClient, send } from '../harness/http/client.js';
import { createDatabase, type TestDatabase } from '../harness/database/database.js';
import { createOwner, type TestOwner } from '../harness/database/factories.js';
import {
  askUntil,
  inParallel,
  sequentially,
  rateLimitHeaders,
  limitsOf,
} from '../harness/rate-limit/limits.js';
import {
  describeWithAnyRedis,
  describeWithRedis,
  openRedis,
  type RedisCluster,
  type RedisServer,
  startRedisCluster,
} from '../harness/processes/redis.js';
import { type Relay, startRelay } from '../harness/database/relay.js';
import {
  type Environment,
  startService,
  type TestService,
  UNBOUNDED,
} from '../harness/service/service.js';

const REPLICAS = 3;
/** Timeouts that a busy machine does not reach. */
const PATIENT = {
  REDIS_COMMAND_TIMEOUT_SECONDS: '0.5',
  DATABASE_POOL_WAIT_SECONDS: '20',
  DATABASE_STATEMENT_TIMEOUT_SECONDS: '20',
};

let database: TestDatabase;
let relay: Relay;

beforeAll(async () => {
  database = await createDatabase();
  relay = await startRelay(database.url);
});
afterAll(async () => {
  await relay.close();
  await database.close();
});

const PREFIX = `${randomBytes(6).toString('hex')}:`;

function startReplicas(redisUrl: string, env: Environment = {}): Promise<TestService[]> {
  const shared = {
    REDIS_URL: redisUrl,
    REDIS_PREFIX: PREFIX,
    TRUST_PROXY: '1',
    ...PATIENT,
    ...UNBOUNDED,
    ...env,
  };
  return Promise.all(
    Array.from({ length: REPLICAS }, () =>
      startService({ database: { ...database, url: relay.url }, env: shared }),
    ),
  );
}

/** Sends each request to the next replica. */
function inRotation(replicas: TestService[], ask: (replica: TestService) => Promise<ApiResponse>) {
  let index = 0;
  return () => ask(replicas[index++ % replicas.length]!);
}

/** Returns the number of responses by code. */
function codes(responses: ApiResponse[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { json } of responses) {
    const code = (json as { code: string }).code;
    counts[code] = (counts[code] ?? 0) + 1;
  }
  return counts;
}

function ofKey(replicas: TestService[], key: string): () => Promise<ApiResponse> {
  return inRotation(replicas, (replica) => new ApiClient(replica, key).get('/v1/nothing'));
}

/** The replicas run in one process and share the log of the last one. */
function expectAllInRedis(replicas: TestService[]): void {
  for (const replica of replicas) expect(replica.output()).not.toContain('in this process');
}

describeWithAnyRedis('three replicas that share a Redis', () => {
  let redis: Awaited<ReturnType<typeof openRedis>>;
  let replicas: TestService[];

  beforeAll(async () => {
    redis = await openRedis();
    replicas = await startReplicas(redis.url, { ANONYMOUS_REQUESTS_PER_MINUTE: '40' });
  });
  afterAll(async () => {
    expectAllInRedis(replicas);
    await Promise.all(replicas.map((replica) => replica.close()));
    await redis.close();
  });

  it('allow exactly the limit per minute of parallel requests of an owner', async () => {
    const { key } = await createOwner(database, { limits: { perMinute: 50, perDay: 1_000 } });
    const responses = await inParallel(150, ofKey(replicas, key));
    // The rejections reach the limit per minute, and the last ones start a ban.
    expect(codes(responses)).toEqual({
      route_not_found: 50,
      rate_limit_exceeded: 49,
      api_key_banned: 51,
    });
    const remaining = responses
      .filter(({ status }) => status === 404)
      .map((response) => limitsOf(response).remaining);
    expect(remaining.sort((a, b) => a - b)).toEqual(
      Array.from({ length: 50 }, (_, index) => index),
    );
  });

  it('allow exactly the limit per day of parallel requests', async () => {
    const { key } = await createOwner(database, { limits: { perMinute: 1_000, perDay: 30 } });
    expect(codes(await inParallel(60, ofKey(replicas, key)))).toEqual({
      route_not_found: 30,
      rate_limit_exceeded: 30,
    });
  });

  it('allow exactly the limit of parallel requests of an address', async () => {
    const headers = { 'X-Forwarded-For': '192.0.2.1' };
    const ask = inRotation(replicas, (replica) => send(replica, '/v1/pets', { headers }));
    expect(codes(await inParallel(100, ask))).toEqual({
      missing_api_key: 40,
      rate_limit_exceeded: 60,
    });
  });

  it('report the same end of the window', async () => {
    const { key } = await createOwner(database);
    const responses = await inParallel(12, ofKey(replicas, key));
    expect(new Set(responses.map((response) => limitsOf(response).reset)).size).toBe(1);
  });

  it('apply a ban that one of them recorded', async () => {
    const { key } = await createOwner(database, { limits: { perMinute: 2, perDay: 100 } });
    const ask = (replica: number) => new ApiClient(replicas[replica]!, key).get('/v1/nothing');
    await sequentially(4, () => ask(0));
    const [first, second] = [await ask(1), await ask(2)];
    expect([first.json.code, second.json.code]).toEqual(['api_key_banned', 'api_key_banned']);
    expect(rateLimitHeaders(first)['x-ratelimit-reset']).toBe(
      rateLimitHeaders(second)['x-ratelimit-reset'],
    );
  });

  it('401 for as many unknown keys as an address may send, 429 for the others, without a lookup', async () => {
    const keys = Array.from({ length: 300 }, unknownKey);
    const responses = await Promise.all(
      keys.map((key, index) =>
        send(replicas[index % REPLICAS]!, '/v1/pets', {
          headers: { 'X-Forwarded-For': '192.0.2.2', Authorization: `Bearer ${key}` },
        }),
      ),
    );
    expect(codes(responses)).toEqual({ invalid_api_key: 40, rate_limit_exceeded: 260 });
    const lookedUp = keys.filter((key) => relay.timesSent(Buffer.from(hashKey(key), 'hex')) > 0);
    expect(lookedUp).toEqual([]);
  });

  describe('send Redis one command for', () => {
    const address = (last: number) => ({ 'X-Forwarded-For': `192.0.2.${last}` });

    // The first command is sent twice, because the server does not have the script yet.
    beforeAll(() => send(replicas[0]!, '/v1/pets', { headers: address(10) }));

    /** Returns how many commands Redis received during the requests. */
    async function commandsOf(ask: () => Promise<unknown>): Promise<number> {
      const count = async (): Promise<number> => {
        const stats = await redis.client.info('commandstats');
        const calls = [...stats.matchAll(/^cmdstat_(\w+).*?:calls=(\d+)/gm)];
        // The commands that scripts call are excluded: only EVALSHA and EVAL were sent by the service.
        const wire = calls.filter(
          ([, name]) => !/^(?:info|time|h\w+|pexpire\w+|keys)$/.test(name!),
        );
        return wire.reduce((sum, [, , times]) => sum + Number(times), 0);
      };
      const before = await count();
      await ask();
      return (await count()) - before;
    }

    it.each<[string, () => Promise<ApiResponse>]>([
      ['without a key', () => send(replicas[0]!, '/v1/pets', { headers: address(11) })],
      [
        'with a malformed key',
        () =>
          send(replicas[0]!, '/v1/pets', {
            headers: { ...address(12), Authorization: 'Bearer aas_x' },
          }),
      ],
      [
        'with an unknown key',
        () =>
          send(replicas[0]!, '/v1/pets', {
            headers: { ...address(13), Authorization: `Bearer ${unknownKey()}` },
          }),
      ],
    ])('a request %s', async (_, ask) => {
      expect(await commandsOf(() => sequentially(5, ask))).toBe(5);
    });

    it('a request with a valid cached key that is allowed, rejected, or banned', async () => {
      const { key } = await createOwner(database, { limits: { perMinute: 3, perDay: 100 } });
      const client = new ApiClient(replicas[0]!, key);
      await client.get('/v1/pets');
      expect(await commandsOf(() => sequentially(9, () => client.get('/v1/pets')))).toBe(9);
    });

    it('a request with a valid key that is not in the cache', async () => {
      const { key } = await createOwner(database);
      const client = new ApiClient(replicas[0]!, key);
      expect(await commandsOf(() => client.get('/v1/pets'))).toBe(1);
    });
  });
});

describeWithRedis('three replicas that share a Redis Cluster of three nodes', () => {
  let cluster: RedisCluster;
  let replicas: TestService[];

  beforeAll(async () => {
    cluster = await startRedisCluster();
    replicas = await startReplicas(cluster.url);
  });
  afterAll(async () => {
    await Promise.all(replicas.map((replica) => replica.close()));
    await cluster.close();
  });

  it('allow exactly the limits of parallel requests of several owners', async () => {
    const owners: TestOwner[] = [];
    for (let index = 0; index < 9; index++) {
      owners.push(await createOwner(database, { limits: { perMinute: 100, perDay: 12 } }));
    }
    const results = await Promise.all(
      owners.map(async ({ key }) => codes(await inParallel(24, ofKey(replicas, key)))),
    );
    expect(results).toEqual(owners.map(() => ({ route_not_found: 12, rate_limit_exceeded: 12 })));
    const used = await Promise.all(cluster.nodes.map(({ client }) => client.dbsize()));
    expect(used.filter((keys) => keys > 0).length).toBeGreaterThan(1);
    expectAllInRedis(replicas);
  });

  it('continue without an unavailable node, and use it again when it is available', async () => {
    const { id, key } = await createOwner(database, { limits: { perMinute: 100, perDay: 1_000 } });
    const ask = ofKey(replicas, key);
    const response = await sequentially(30, ask);
    expect(limitsOf(response).remaining).toBe(70);
    const node = await nodeOf(id);
    await node.signal('SIGSTOP');
    const during = await sequentially(3, ask);
    expect(limitsOf(during)).toMatchObject({ remaining: 69, reset: limitsOf(response).reset });
    await readinessBecomes('degraded');
    await node.signal('SIGCONT');
    await cluster.agreed();
    await readinessBecomes('ok');
    expect((await ask()).status).toBe(404);
  });

  it('use the node that replaces a killed one', async () => {
    const { id, key } = await createOwner(database, { limits: { perMinute: 100, perDay: 1_000 } });
    const ask = ofKey(replicas, key);
    await sequentially(30, ask);
    const node = await nodeOf(id);
    await cluster.addReplica(node);
    await node.signal('SIGKILL');
    expect(limitsOf(await sequentially(3, ask)).remaining).toBe(69);
    await readinessBecomes('degraded');
    // On a busy machine, the nodes may repeat the election seconds later.
    await readinessBecomes('ok', 30_000);
    // The replica has the earlier counts.
    expect(limitsOf(await ask()).remaining).toBe(69);
  }, 60_000);

  it('close their connections to the nodes when they stop', async () => {
    const alive = cluster.nodes.filter(({ client }) => client.status === 'ready');
    await Promise.all(replicas.map((replica) => replica.close()));
    for (const node of alive) await node.untilConnections(1);
  });

  async function nodeOf(ownerId: string): Promise<RedisServer> {
    for (const node of cluster.nodes) {
      if ((await node.client.keys(`${PREFIX}{owner:${ownerId}}`)).length > 0) return node;
    }
    throw new Error(`no node has counted for owner ${ownerId}`);
  }

  async function readinessBecomes(status: string, withinMs?: number): Promise<void> {
    for (const replica of replicas) {
      const ready = () => send(replica, '/health/ready');
      const { response } = await askUntil(ready, ({ json }) => json.status === status, withinMs);
      expect(response.status).toBe(200);
    }
  }
});
