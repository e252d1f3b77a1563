import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { PRODUCT } from '../../../../src/product.js';
import { ApiClient } from '../../../harness/http/client.js';
import { useDatabase } from '../../../harness/database/database.js';
import { createOwner } from '../../../harness/database/factories.js';
import { limitsOf } from '../../../harness/rate-limit/limits.js';
import { createCertificate, hasOpenssl } from '../../../harness/processes/certificate.js';
import {
  describeWithRedis,
  type RedisServer,
  startRedis,
  startRedisCluster,
} from '../../../harness/processes/redis.js';
import { until } from '../../../harness/run/until.js';
import {
  type BuiltService,
  startBuiltService,
  startService,
} from '../../../harness/service/service.js';

(hasOpenssl ? describeWithRedis : describe.skip)(
  'the built service with Redis over TLS and a password',
  () => {
    let folder: string;
    const database = useDatabase();
    let redis: RedisServer;
    let service: BuiltService;

    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'pets-redis-tls-'));
      const { key, certificate } = createCertificate(folder);
      redis = await startRedis({
        args: ['--maxmemory-policy', 'volatile-lru', '--requirepass', 'p@ss,word'],
        tls: { key, certificate },
        password: 'p@ss,word',
      });
      service = await startBuiltService({
        DATABASE_URL: database.url,
        REDIS_URL: `rediss://:p%40ss%2Cword@127.0.0.1:${redis.port}/1`,
        REDIS_CA_FILE: certificate,
        // Longer than a test may take.
        SHUTDOWN_GRACE_SECONDS: '600',
      });
    });
    afterAll(async () => {
      await redis.close();
      rmSync(folder, { recursive: true });
    });

    test('counts in the database of REDIS_URL, and warns of eviction once', async () => {
      const { id, key } = await createOwner(database, { plan: 'free' });
      expect(limitsOf(await new ApiClient(service, key).get('/v1/items')).remaining).toBe(59);
      await redis.client.select(1);
      expect(await redis.client.keys('*')).toEqual([`${PRODUCT.redisPrefix}{owner:${id}}`]);
      await service.waitForLog(({ msg = '' }) => msg.startsWith('Redis evicts'));
      const warnings = service.logs().filter(({ level }) => Number(level) >= 40);
      expect(warnings.map(({ msg }) => msg)).toEqual([
        expect.stringMatching(/^Redis evicts keys \(maxmemory-policy volatile-lru\): .*noeviction/),
      ]);
    });

    test('exits with 0 while Redis hangs', async () => {
      await redis.signal('SIGSTOP');
      expect(await service.stop()).toBe(0);
      expect(service.output()).not.toContain('p@ss');
    });
  },
);

describeWithRedis('the files of REDIS_URL_FILE and REDIS_CA_FILE', () => {
  const folder = mkdtempSync(join(tmpdir(), 'pets-redis-renewed-'));
  const address = join(folder, 'address');
  const database = useDatabase();
  const servers: { close(): Promise<void> }[] = [];
  afterAll(async () => {
    await Promise.all(servers.map((server) => server.close()));
    rmSync(folder, { recursive: true });
  });

  async function start(env: Record<string, string>) {
    const service = await startService({ database, env: { REDIS_URL_FILE: address, ...env } });
    const client = new ApiClient(service);
    const becomes = (status: string) =>
      until(async () => (await client.get('/health/ready')).json.status === status);
    await becomes('ok');
    return { service, becomes };
  }

  (hasOpenssl ? test : test.skip)('are read for each connection to a server', async () => {
    const create = () => createCertificate(mkdtempSync(join(folder, 'certificate')));
    const [old, renewed] = [create(), create()];
    const authority = join(folder, 'ca');
    copyFileSync(old.certificate, authority);
    const tls = { ...old };
    const redis = await startRedis({ args: ['--requirepass', 'old'], tls, password: 'old' });
    servers.push(redis);
    const url = (password: string) => `rediss://:${password}@127.0.0.1:${redis.port}`;
    writeFileSync(address, url('old'));
    const { service, becomes } = await start({ REDIS_CA_FILE: authority });

    copyFileSync(renewed.certificate, old.certificate);
    copyFileSync(renewed.key, old.key);
    const files = ['tls-cert-file', old.certificate, 'tls-key-file', old.key];
    await redis.client.call('CONFIG', 'SET', 'requirepass', 'new', ...files);
    await redis.client.call('CLIENT', 'KILL', 'TYPE', 'normal');
    await becomes('degraded');
    copyFileSync(renewed.certificate, authority);
    writeFileSync(address, url('new'));
    await becomes('ok');
    await service.close();
  });

  test('are read for each connection to the nodes of a Cluster', async () => {
    const cluster = await startRedisCluster({ password: 'old' });
    servers.push(cluster);
    const urls = (password: string) => cluster.url.replaceAll('redis://', `redis://:${password}@`);
    writeFileSync(address, urls('old'));
    const { service, becomes } = await start({});

    const change = async (client: Redis) => {
      await client.call('CONFIG', 'SET', 'requirepass', 'new', 'masterauth', 'new');
      await client.call('CLIENT', 'KILL', 'TYPE', 'normal');
    };
    await Promise.all(cluster.nodes.map(({ client }) => change(client)));
    await becomes('degraded');
    writeFileSync(address, urls('new'));
    await becomes('ok');
    await service.close();
  });
});
