import { ApiClient } from '../harness/http/client.js';
import { useDatabase } from '../harness/database/database.js';
import { createOwner } from '../harness/database/factories.js';
import {
  describeWithRedis,
  type RedisCluster,
  type RedisServer,
  startRedis,
  startRedisCluster,
} from '../harness/processes/redis.js';
import { startService, type TestService } from '../harness/service/service.js';

const PASSWORD = 'the-right-password';
const REJECTED = 'Counting rate limits in this process: Redis rejected the password or the command';

describeWithRedis('Redis with a password', () => {
  const database = useDatabase();
  let redis: RedisServer;
  let cluster: RedisCluster;
  let service: TestService;

  beforeAll(async () => {
    redis = await startRedis({ args: ['--requirepass', PASSWORD], password: PASSWORD });
    await redis.client.call('ACL', 'SETUSER', 'pets', 'on', `>${PASSWORD}`, '~aas:*', '+@all');
    cluster = await startRedisCluster();
    for (const { client } of cluster.nodes) {
      await client.call('CONFIG', 'SET', 'requirepass', PASSWORD);
    }
  });
  afterEach(() => service.close());
  afterAll(() => Promise.all([redis.close(), cluster.close()]));

  /** Starts a service, and expects a 200. */
  async function start(redisUrl: string, credentials: string): Promise<void> {
    const url = redisUrl.replaceAll('redis://', `redis://${credentials}`);
    // Long enough that only Redis's reply causes a failure, not a busy machine.
    const env = { REDIS_URL: url, REDIS_COMMAND_TIMEOUT_SECONDS: '1' };
    service = await startService({ database, env });
    const { key } = await createOwner(database);
    expect((await new ApiClient(service, key).get('/v1/pets')).status).toBe(200);
  }
  const warnings = () => service.logs().filter(({ level }) => Number(level) >= 40);

  it.each<[title: string, credentials: string, reply: string, url: () => string]>([
    ['a wrong password', ':wrong@', 'WRONGPASS', () => redis.url],
    ['a wrong password and a database', ':wrong@', 'WRONGPASS', () => `${redis.url}/1`],
    ['a wrong password of an ACL user', 'pets:wrong@', 'WRONGPASS', () => redis.url],
    ['an unknown ACL user', 'nobody:wrong@', 'WRONGPASS', () => redis.url],
    ['no password', '', 'NOAUTH', () => redis.url],
    ['a wrong password of a Cluster', ':wrong@', 'WRONGPASS', () => cluster.url],
    ['no password of a Cluster', '', 'NOAUTH', () => cluster.url],
  ])(
    'GET /v1/pets › 200 with %s, and one log line says that Redis rejected it',
    async (_title, credentials, reply, url) => {
      await start(url(), credentials);
      const message = expect.stringMatching(`^${reply} `) as string;
      expect(warnings()).toEqual([
        expect.objectContaining({
          level: 40,
          msg: REJECTED,
          err: expect.objectContaining({ cause: expect.objectContaining({ message }) }),
        }),
      ]);
      expect(service.output()).not.toContain('multibulk');
      expect(service.output()).not.toContain('wrong@');
    },
  );

  it('GET /v1/pets › 200 and counted in Redis with the password of an ACL user, until it changes', async () => {
    await redis.client.flushall();
    await start(redis.url, `pets:${PASSWORD}@`);
    expect(await redis.client.keys('aas:*')).toHaveLength(1);
    expect(warnings()).toEqual([]);

    await redis.client.call('ACL', 'SETUSER', 'pets', 'resetpass', '>another-password');
    await redis.client.call('CLIENT', 'KILL', 'USER', 'pets');
    await service.waitForLog(({ msg = '' }) =>
      msg.startsWith('Counting rate limits in this process'),
    );
    await redis.client.call('ACL', 'SETUSER', 'pets', 'resetpass', `>${PASSWORD}`);
    await service.waitForLog(({ msg }) => msg === 'Counting rate limits in Redis again');
  });
});
