import { useDatabase } from '../../harness/database/database.js';
import { createOwner } from '../../harness/database/factories.js';
import { type ApiResponse, ApiClient, send } from '../../harness/http/client.js';
import {
  describeWithRedis,
  type RedisCluster,
  type RedisServer,
  startRedisCluster,
  failOverTo,
  waitForReply,
} from '../../harness/processes/redis.js';
import { askUntil, inParallel, limitsOf, sequentially } from '../../harness/rate-limit/limits.js';
import { startService, type TestService } from '../../harness/service/service.js';

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

  /** After this time without a reply, the other nodes consider a node to have failed. */
  async function setNodeTimeout(nodes: readonly RedisServer[], ms: number): Promise<void> {
    for (const { client } of nodes) await client.config('SET', 'cluster-node-timeout', ms);
  }

  async function nodeOf(ownerId: string): Promise<RedisServer> {
    for (const node of cluster.nodes) {
      if ((await node.client.keys(`aas:{owner:${ownerId}}`)).length > 0) return node;
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

  it('count exactly and together while a node and its replica change places twice', async () => {
    const logged = replicas.map((replica) => replica.logs().length);
    const { node, ask } = await countedOwner();
    const other = await cluster.addReplica(node);
    // A pause of a busy machine must not look like the failure of a node.
    await setNodeTimeout([...cluster.nodes, other], 10_000);
    for (const [from, to] of [
      [node, other],
      [other, node],
    ] as const) {
      const change = async () => {
        await failOverTo(to);
        await waitForReply(from.client, ['INFO', 'replication'], /master_link_status:up/);
        // The nodes elect only a node that they see as a replica.
        const seen = new RegExp(
          `slave ${String(await to.client.call('CLUSTER', 'MYID'))} .* connected`,
        );
        for (const { client } of cluster.nodes)
          await waitForReply(client, ['CLUSTER', 'NODES'], seen);
      };
      await Promise.all([change(), inParallel(20, ask)]);
    }
    const lines = replicas.flatMap((replica, index) => replica.logs().slice(logged[index]));
    expect(lines.filter(({ level }) => Number(level) >= 40)).toEqual([]);
    expect(limitsOf(await ask()).remaining).toBe(100 - 30 - 2 * 20 - 1);
    await setNodeTimeout([...cluster.nodes, other], 1_000);
  }, 60_000);

  it('use the node that replaces a killed one', async () => {
    const { node, ask } = await countedOwner();
    await cluster.addReplica(node);
    await node.signal('SIGKILL');
    expect(limitsOf(await sequentially(2, ask)).remaining).toBe(69);
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
});
