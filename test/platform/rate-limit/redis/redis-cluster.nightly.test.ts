import { PRODUCT } from '../../../../src/product.js';
import { useDatabase } from '../../../harness/database/database.js';
import { createOwner } from '../../../harness/database/factories.js';
import { type ApiResponse, ApiClient, send } from '../../../harness/http/client.js';
import {
  describeWithRedis,
  type RedisCluster,
  type RedisServer,
  startRedisCluster,
} from '../../../harness/processes/redis.js';
import { askUntil, limitsOf, sequentially } from '../../../harness/rate-limit/limits.js';
import { startService, type TestService } from '../../../harness/service/service.js';

describeWithRedis('replicas that share a Redis Cluster', () => {
  const database = useDatabase();
  let cluster: RedisCluster;
  let replicas: TestService[];

  beforeAll(async () => {
    cluster = await startRedisCluster();
    const env = { REDIS_URL: cluster.url, REDIS_COMMAND_TIMEOUT_SECONDS: '1' };
    replicas = await Promise.all([1, 2].map(() => startService({ database, env })));
  });
  afterAll(() => cluster.close());

  /** Sends 30 requests of a new owner to the replicas in turn. Returns what sends more of them. */
  async function countedOwner() {
    const limits = { perMinute: 100, perDay: 1_000 };
    const { id, key } = await createOwner(database, { limits });
    let index = 0;
    const ask = (): Promise<ApiResponse> =>
      new ApiClient(replicas[index++ % replicas.length]!, key).get('/v1/nothing');
    const response = await sequentially(30, ask);
    expect(limitsOf(response).remaining).toBe(70);
    return { node: await nodeOf(id), ask, ...limitsOf(response) };
  }

  async function nodeOf(ownerId: string): Promise<RedisServer> {
    for (const node of cluster.nodes) {
      if ((await node.client.keys(`${PRODUCT.redisPrefix}{owner:${ownerId}}`)).length > 0)
        return node;
    }
    throw new Error(`no node has counted for owner ${ownerId}`);
  }

  async function readinessBecomes(status: string): Promise<void> {
    for (const replica of replicas) {
      const ready = () => send(replica, '/health/ready');
      const { status: code } = await askUntil(ready, ({ json }) => json.status === status);
      expect(code).toBe(200);
    }
  }

  it('continue without an unavailable node, and use it again when it is available', async () => {
    const { node, ask, reset } = await countedOwner();
    await node.signal('SIGSTOP');
    expect(limitsOf(await sequentially(2, ask))).toMatchObject({ remaining: 69, reset });
    await readinessBecomes('degraded');
    await node.signal('SIGCONT');
    await cluster.agreed();
    await readinessBecomes('ok');
    expect((await ask()).status).toBe(404);
  });
});
