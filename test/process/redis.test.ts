import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PRODUCT } from '../../src/product.js';
import { ApiClient } from '../harness/http/client.js';
import { useDatabase } from '../harness/database/database.js';
import { createOwner } from '../harness/database/factories.js';
import { limitsOf } from '../harness/rate-limit/limits.js';
import { createCertificate, hasOpenssl } from '../harness/processes/certificate.js';
import { describeWithRedis, type RedisServer, startRedis } from '../harness/processes/redis.js';
import { type BuiltService, startBuiltService } from '../harness/service/service.js';

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
