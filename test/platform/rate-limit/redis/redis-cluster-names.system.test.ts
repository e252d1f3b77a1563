import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { useDatabase } from '../../../harness/database/database.js';
import { createOwner } from '../../../harness/database/factories.js';
import { ApiClient, send } from '../../../harness/http/client.js';
import { createCertificate, hasOpenssl } from '../../../harness/processes/certificate.js';
import {
  describeWithRedis,
  type RedisCluster,
  startRedisCluster,
} from '../../../harness/processes/redis.js';
import { askUntil, inParallel } from '../../../harness/rate-limit/limits.js';
import { startService, type TestService } from '../../../harness/service/service.js';

const BY_NAME = ['--cluster-preferred-endpoint-type', 'hostname'];
const NAMED = [...BY_NAME, '--cluster-announce-hostname', 'localhost'];

const database = useDatabase();
let cluster: RedisCluster;
let service: TestService;

function startReplica(env: Record<string, string>): Promise<TestService> {
  return startService({ database, env: { REDIS_COMMAND_TIMEOUT_SECONDS: '1', ...env } });
}

async function readinessIs(status: string): Promise<void> {
  const ready = () => send(service, '/health/ready');
  const { json } = await askUntil(ready, (response) => response.json.status === status);
  expect(json.status).toBe(status);
}

const causes = (): string[] =>
  service
    .logs()
    .map(({ msg = '' }) => msg)
    .filter((msg) => msg.startsWith('Counting rate limits in this process'));

afterEach(async () => {
  await service.close();
  await cluster.close();
});

(hasOpenssl ? describeWithRedis : describe.skip)(
  'a Redis Cluster over TLS whose certificates have only a name',
  () => {
    let folder: string;

    beforeAll(() => {
      folder = mkdtempSync(join(tmpdir(), 'pets-redis-names-'));
    });
    afterAll(() => rmSync(folder, { recursive: true }));

    async function start(subjectName: string, ca?: 'REDIS_CA_FILE'): Promise<void> {
      const tls = createCertificate(folder, subjectName);
      cluster = await startRedisCluster({ tls, args: NAMED });
      const urls = cluster.nodes.map(({ port }) => `rediss://localhost:${port}`);
      service = await startReplica({
        REDIS_URL: urls.join(','),
        ...(ca && { [ca]: tls.certificate }),
      });
    }

    it('is used', async () => {
      await start('DNS:localhost', 'REDIS_CA_FILE');
      await readinessIs('ok');
      for (let count = 0; count < 6; count++) {
        const { key } = await createOwner(database, { limits: { perMinute: 5, perDay: 1_000 } });
        const responses = await inParallel(8, () => new ApiClient(service, key).get('/v1/nothing'));
        expect(responses.filter(({ status }) => status === 404)).toHaveLength(5);
      }
      const used = await Promise.all(cluster.nodes.map(({ client }) => client.dbsize()));
      expect(used.reduce((sum, keys) => sum + keys)).toBe(6);
    });

    it.each([
      [
        'the certificate has another name',
        'DNS:other.test',
        'REDIS_CA_FILE',
        "Hostname/IP does not match certificate's altnames",
      ],
      ['the authority is unknown', 'DNS:localhost', undefined, 'DEPTH_ZERO_SELF_SIGNED_CERT'],
    ] as const)('degraded, and the log says that %s', async (_title, subjectName, ca, cause) => {
      await start(subjectName, ca);
      await readinessIs('degraded');
      expect(causes()).toEqual([expect.stringContaining(`: Redis is unreachable: `)]);
      expect(causes()).toEqual([expect.stringContaining(cause)]);
    });
  },
);

describeWithRedis('a Redis Cluster whose nodes do not report their addresses', () => {
  it.each([
    ['unknown-endpoint', ['--cluster-preferred-endpoint-type', 'unknown-endpoint']],
    ['hostname without names', BY_NAME],
  ])('%s › degraded, and one log line says what to set', async (_title, args) => {
    cluster = await startRedisCluster({ args });
    service = await startReplica({ REDIS_URL: cluster.url });
    await readinessIs('degraded');
    expect(causes()).toEqual([
      expect.stringMatching(/: Redis is unreachable: .* Set cluster-preferred-endpoint-type /),
    ]);
  });
});

describeWithRedis('a Redis Cluster that cannot be reached', () => {
  it.each([
    ['a name that does not exist', 'nothing.invalid:6379', /ENOTFOUND|EAI_AGAIN|got no response/],
    ['a port without a server', 'localhost:1', /ECONNREFUSED/],
  ])('%s › the log line says so', async (_title, address, cause) => {
    cluster = await startRedisCluster();
    service = await startReplica({ REDIS_URL: `redis://${address},redis://${address}` });
    await readinessIs('degraded');
    expect(causes()).toEqual([expect.stringMatching(cause)]);
  });
});
