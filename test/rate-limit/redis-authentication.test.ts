import { ApiClient } from '../harness/http/client.js';
import { createDatabase, type TestDatabase } from '../harness/database/database.js';
import { createOwner } from '../harness/database/factories.js';
import {
  describeWithRedis,
  type RedisCluster,
  type RedisServer,
  startRedis,
  startRedisCluster,
} from '../harness/processes/redis.js';
import { type LogLine, startService, type TestService } from '../harness/service/service.js';

const PASSWORD = 'the-right-password';
const REJECTED = 'Counting rate limits in this process: Redis rejected the password or the command';

const WRONG_CREDENTIALS: [title: string, credentials: string, reply: string, path?: string][] = [
  ['a wrong password', ':wrong@', 'WRONGPASS'],
  ['a wrong password and a database number', ':wrong@', 'WRONGPASS', '/1'],
  ['a wrong password of an ACL user', 'pets:wrong@', 'WRONGPASS'],
  ['an unknown ACL user', 'nobody:wrong@', 'WRONGPASS'],
  ['no password', '', 'NOAUTH'],
];

let database: TestDatabase;
let service: TestService;

beforeAll(async () => {
  database = await createDatabase();
});
afterEach(() => service.close());
afterAll(() => database.close());

async function start(redisUrl: string): Promise<void> {
  service = await startService({
    database,
    // Long enough that only Redis's reply causes a failure, not a busy machine.
    env: { REDIS_URL: redisUrl, REDIS_COMMAND_TIMEOUT_SECONDS: '1' },
  });
}

async function expectServedWithoutRedis(): Promise<void> {
  const { key } = await createOwner(database);
  expect((await new ApiClient(service, key).get('/v1/pets')).status).toBe(200);
}

function warnings(): LogLine[] {
  return service.logs().filter(({ level }) => Number(level) >= 40);
}

function expectRejected(line: LogLine | undefined, reply: string): void {
  const message = expect.stringMatching(`^${reply} `) as string;
  expect(line).toMatchObject({ level: 40, msg: REJECTED, err: { cause: { message } } });
  expect(service.output()).not.toContain('multibulk');
  expect(service.output()).not.toContain('wrong@');
}

describeWithRedis('a Redis server with a password', () => {
  let redis: RedisServer;

  beforeAll(async () => {
    redis = await startRedis({ args: ['--requirepass', PASSWORD], password: PASSWORD });
    await redis.client.call('ACL', 'SETUSER', 'pets', 'on', `>${PASSWORD}`, '~aas:*', '+@all');
  });
  afterAll(() => redis.close());

  const url = (credentials: string): string => `redis://${credentials}127.0.0.1:${redis.port}`;

  it.each(WRONG_CREDENTIALS)(
    'GET /v1/pets › 200 with %s, and one log line says that Redis rejected it',
    async (_title, credentials, reply, path = '') => {
      await start(`${url(credentials)}${path}`);
      await expectServedWithoutRedis();
      expect(warnings()).toHaveLength(1);
      expectRejected(warnings()[0], reply);
    },
  );

  it('GET /v1/pets › 200 and counted in Redis with the password of an ACL user', async () => {
    await start(url(`pets:${PASSWORD}@`));
    await redis.client.flushall();
    await expectServedWithoutRedis();
    expect(await redis.client.keys('aas:*')).toHaveLength(1);
    expect(warnings()).toEqual([]);
  });

  it('a password that is changed while the service runs is reported when Redis rejects it', async () => {
    await start(url(`pets:${PASSWORD}@`));
    await redis.client.call('ACL', 'SETUSER', 'pets', 'resetpass', '>another-password');
    await redis.client.call('CLIENT', 'KILL', 'USER', 'pets');
    const rejected = await service.waitForLog(({ msg = '' }) =>
      msg.includes('rejected the password'),
    );
    expect(rejected).toMatchObject({
      level: 40,
      err: { cause: { message: expect.stringContaining('WRONGPASS ') as string } },
    });
    await redis.client.call('ACL', 'SETUSER', 'pets', 'resetpass', `>${PASSWORD}`);
    await service.waitForLog(({ msg }) => msg === 'Counting rate limits in Redis again');
  });
});

describeWithRedis('a Redis Cluster with a password', () => {
  let cluster: RedisCluster;

  beforeAll(async () => {
    cluster = await startRedisCluster();
    for (const { client } of cluster.nodes) {
      await client.call('CONFIG', 'SET', 'requirepass', PASSWORD);
    }
  });
  afterAll(() => cluster.close());

  it.each([
    ['a wrong password', ':wrong@', 'WRONGPASS'],
    ['no password', '', 'NOAUTH'],
  ])(
    'GET /v1/pets › 200 with %s, and one log line says that Redis rejected it',
    async (_title, credentials, reply) => {
      await start(cluster.url.replaceAll('redis://', `redis://${credentials}`));
      await expectServedWithoutRedis();
      expect(warnings()).toHaveLength(1);
      expectRejected(warnings()[0], reply);
    },
  );
});
