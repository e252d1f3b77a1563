import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { useDatabase } from '../harness/database/database.js';
import { freePort } from '../harness/processes/free-port.js';
import {
  describeWithRedis,
  type RedisCluster,
  type RedisServer,
  startRedis,
  startRedisCluster,
} from '../harness/processes/redis.js';
import { startService } from '../harness/service/service.js';

const database = useDatabase();

/** Starts a Redis Sentinel that watches nothing. */
async function startSentinel() {
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), 'pets-sentinel-'));
  writeFileSync(join(folder, 'sentinel.conf'), `port ${port}\ndir ${folder}\n`);
  const args = [join(folder, 'sentinel.conf'), '--sentinel'];
  const sentinel = spawn('redis-server', args, { stdio: 'ignore' });
  const client = new Redis(port, { retryStrategy: () => 50 });
  client.on('error', () => undefined);
  // The client sends it once it is connected.
  await client.ping();
  client.disconnect();
  const close = async (): Promise<void> => {
    sentinel.kill('SIGKILL');
    await once(sentinel, 'exit');
    rmSync(folder, { recursive: true });
  };
  return { url: `redis://127.0.0.1:${port}`, close };
}

describeWithRedis('REDIS_URL leads to a server that cannot count', () => {
  let cluster: RedisCluster;
  let replica: RedisServer;
  let sentinel: Awaited<ReturnType<typeof startSentinel>>;

  beforeAll(async () => {
    cluster = await startRedisCluster();
    // No server listens on this port.
    replica = await startRedis({ args: ['--replicaof', '127.0.0.1', String(await freePort())] });
    sentinel = await startSentinel();
  });
  afterAll(() => Promise.all([cluster.close(), replica.close(), sentinel.close()]));

  it.each<[title: string, remedy: string, url: () => string]>([
    // The first probe is for a slot of the first node.
    ['one node of a Cluster', 'set REDIS_URL to two or more', () => cluster.nodes[1]!.url],
    [
      'two servers without a Cluster',
      'set REDIS_URL to one',
      () => `${replica.url},${replica.url}`,
    ],
    ['a Sentinel', 'Redis Sentinel is not supported: set REDIS_URL', () => sentinel.url],
    ['two Sentinels', 'Redis Sentinel is not', () => `${sentinel.url},${sentinel.url}`],
    ['a replica', 'set REDIS_URL to an address that leads to the master', () => replica.url],
  ])('%s: the warning at the start names the remedy', async (_title, remedy, url) => {
    const env = { REDIS_URL: url(), REDIS_COMMAND_TIMEOUT_SECONDS: '1' };
    const service = await startService({ database, env });
    const warnings = service.logs().filter(({ level }) => Number(level) >= 40);
    expect(warnings.map(({ msg }) => msg)).toEqual([expect.stringContaining(remedy)]);
    await service.close();
  });

  it('one address of a Cluster twice: no warning, because the client finds its nodes', async () => {
    const { url } = cluster.nodes[0]!;
    const env = { REDIS_URL: `${url},${url}`, REDIS_COMMAND_TIMEOUT_SECONDS: '1' };
    const service = await startService({ database, env });
    expect(service.output()).not.toContain('in this process');
    await service.close();
  });
});
