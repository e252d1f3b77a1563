import { randomBytes } from 'node:crypto';
import { unknownKey } from '../../../harness/database/api-keys.js';
import { useDatabase } from '../../../harness/database/database.js';
import { createOwner, type TestOwner } from '../../../harness/database/factories.js';
import { type ApiResponse, ApiClient, send } from '../../../harness/http/client.js';
import { featureFile } from '../../../harness/http/store.js';
import {
  describeWithAnyRedis,
  describeWithRedis,
  openRedis,
  type RedisCluster,
  startRedisCluster,
} from '../../../harness/processes/redis.js';
import { inParallel, limitsOf, sequentially } from '../../../harness/rate-limit/limits.js';
import { untilMetric } from '../../../harness/service/metrics.js';
import { startService, type TestService, UNBOUNDED } from '../../../harness/service/service.js';

const ADDRESS_LIMIT = 40;
const PREFIX = `${randomBytes(6).toString('hex')}:`;

const database = useDatabase();
let replicas: TestService[] = [];
let linesAtStart: number[] = [];

afterEach(() => {
  const lines = replicas.flatMap((replica, index) => replica.logs().slice(linesAtStart[index]));
  expect(lines.filter(({ msg = '' }) => msg.includes('in this process'))).toEqual([]);
});

async function startReplicas(redisUrl: string): Promise<void> {
  const env = {
    ...UNBOUNDED,
    REDIS_URL: redisUrl,
    REDIS_PREFIX: PREFIX,
    TRUST_PROXY: '1',
    ANONYMOUS_REQUESTS_PER_MINUTE: String(ADDRESS_LIMIT),
    // Time limits that a busy machine hardly reaches.
    REDIS_COMMAND_TIMEOUT_SECONDS: '1',
    DATABASE_POOL_WAIT_SECONDS: '20',
    DATABASE_STATEMENT_TIMEOUT_SECONDS: '20',
  };
  replicas = await Promise.all(
    [1, 2, 3].map(() => startService({ database, env, features: featureFile('limited-routes') })),
  );
  // On a busy machine, the time limit of the first connection can end.
  for (const replica of replicas)
    await untilMetric(replica, 'redis_circuit_open', (value) => value === 0);
  linesAtStart = replicas.map((replica) => replica.logs().length);
}

async function stopReplicas(): Promise<void> {
  await Promise.all(replicas.splice(0).map((replica) => replica.close()));
}

/** Returns what sends each request to the next replica. */
function inRotation(ask: (replica: TestService) => Promise<ApiResponse>) {
  let index = 0;
  return () => ask(replicas[index++ % replicas.length]!);
}

const asks = (key: string) =>
  inRotation((replica) => new ApiClient(replica, key).get('/v1/nothing'));

const newOwner = (perMinute: number, perDay: number): Promise<TestOwner> =>
  createOwner(database, { limits: { perMinute, perDay } });

function codes(responses: ApiResponse[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { json } of responses) {
    const { code } = json as { code: string };
    counts[code] = (counts[code] ?? 0) + 1;
  }
  return counts;
}

describeWithAnyRedis('three replicas that share a Redis', () => {
  let redis: Awaited<ReturnType<typeof openRedis>>;

  beforeAll(async () => {
    redis = await openRedis();
    await startReplicas(redis.url);
  });
  afterAll(async () => {
    await stopReplicas();
    await redis.close();
  });

  it('allow exactly the limit per minute of parallel requests of an owner', async () => {
    const { key } = await newOwner(50, 1_000);
    const responses = await inParallel(150, asks(key));
    // The rejections reach the limit per minute, and the last ones start a ban.
    expect(codes(responses)).toEqual({
      route_not_found: 50,
      rate_limit_exceeded: 49,
      api_key_banned: 51,
    });

    const limits = responses.filter(({ status }) => status === 404).map(limitsOf);
    const remaining = limits.map((each) => each.remaining).sort((a, b) => a - b);
    expect(remaining).toEqual(Array.from({ length: 50 }, (_, index) => index));
    expect(new Set(limits.map(({ reset }) => reset)).size).toBe(1);
  });

  it('allow exactly the limit per day of parallel requests', async () => {
    const { key } = await newOwner(1_000, 30);
    const responses = await inParallel(60, asks(key));
    expect(codes(responses)).toEqual({ route_not_found: 30, rate_limit_exceeded: 30 });
  });

  it.each<[code: string, key: () => string]>([
    ['missing_api_key', () => ''],
    ['invalid_api_key', unknownKey],
  ])('allow exactly the limit of parallel requests of an address: %s', async (code, key) => {
    const ask = inRotation((replica) => {
      const address = { 'X-Forwarded-For': code === 'missing_api_key' ? '192.0.2.1' : '192.0.2.2' };
      return new ApiClient(replica, key()).get('/v1/items', address);
    });
    expect(codes(await inParallel(200, ask))).toEqual({
      [code]: ADDRESS_LIMIT,
      rate_limit_exceeded: 200 - ADDRESS_LIMIT,
    });
  });

  it('apply a ban that one of them recorded', async () => {
    const { key } = await newOwner(2, 100);
    const [first, ...others] = replicas.map((replica) => new ApiClient(replica, key));
    const banned = await sequentially(4, () => first!.get('/v1/nothing'));
    for (const other of others) {
      const response = await other.get('/v1/nothing');
      expect(response.json.code).toBe('api_key_banned');
      expect(limitsOf(response)).toEqual(limitsOf(banned));
    }
  });

  async function commands(): Promise<number> {
    const stats = await redis.client.info('commandstats');
    const calls = [...stats.matchAll(/^cmdstat_(\w+).*?:calls=(\d+)/gm)];
    // The commands that scripts call are excluded: only EVALSHA and EVAL were sent by the service.
    const wire = calls.filter(([, name]) => !/^(?:info|time|h\w+|pexpire\w+|keys)$/.test(name!));
    return wire.reduce((sum, [, , times]) => sum + Number(times), 0);
  }

  it.each<[string, times: number, key: (owner: TestOwner) => string | undefined]>([
    ['without a key', 5, () => undefined],
    ['with a malformed key', 5, () => 'malformed'],
    ['with an unknown key', 5, () => unknownKey()],
    ['with a valid key, cached or not, that is allowed, rejected or banned', 9, ({ key }) => key],
  ])('send Redis one command for a request %s', async (title, times, keyOf) => {
    const headers = { 'X-Forwarded-For': `192.0.2.${10 + title.length}` };
    // The first command is sent twice, because the server does not have the script yet.
    await send(replicas[0]!, '/v1/items', { headers });
    const client = new ApiClient(replicas[0]!, keyOf(await newOwner(3, 100)));
    const before = await commands();
    await sequentially(times, () => client.get('/v1/items', headers));
    expect((await commands()) - before).toBe(times);
  });

  it('send Redis no command for a route with @SkipThrottle(), and the last state that they read', async () => {
    const client = new ApiClient(replicas[0]!, (await newOwner(3, 100)).key);
    const counted = await client.get('/v1/nothing');
    const before = await commands();
    const skipped = await client.get('/v1/plain/skipped');
    expect(skipped.status).toBe(200);
    for (const name of ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'])
      expect(skipped.headers[name]).toBe(counted.headers[name]);
    expect(await commands()).toBe(before);
  });
});

describeWithRedis('three replicas that share a Redis Cluster of three nodes', () => {
  let cluster: RedisCluster;

  beforeAll(async () => {
    cluster = await startRedisCluster({ password: 'p@ss,word' });
    // A single address, twice: the nodes report those of the others, without the password.
    const url = `redis://:p%40ss%2Cword@127.0.0.1:${cluster.nodes[0]!.port}`;
    await startReplicas(`${url},${url}`);
  });
  afterAll(async () => {
    await stopReplicas();
    await cluster.close();
  });

  it('allow exactly the limits of parallel requests of several owners', async () => {
    const owners: TestOwner[] = [];
    while (owners.length < 9) owners.push(await newOwner(100, 12));
    const results = await Promise.all(
      owners.map(async ({ key }) => codes(await inParallel(24, asks(key)))),
    );
    expect(results).toEqual(owners.map(() => ({ route_not_found: 12, rate_limit_exceeded: 12 })));
    const used = await Promise.all(cluster.nodes.map(({ client }) => client.dbsize()));
    expect(used.filter((keys) => keys > 0).length).toBeGreaterThan(1);
  });
});
