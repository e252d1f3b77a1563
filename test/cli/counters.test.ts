import { useDatabase } from '../harness/database/database.js';
import { ApiClient } from '../harness/http/client.js';
import { Cli } from '../harness/processes/command.js';
import { describeWithRedis, type RedisServer, startRedis } from '../harness/processes/redis.js';
import { startService, type TestService } from '../harness/service/service.js';

const TIME = expect.stringMatching(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/);
const NO_REDIS = /If the service uses Redis, set its REDIS_URL/;

const database = useDatabase();

async function issue(cli: Cli, owner: string, perMinute: string) {
  const limits = ['--plan', 'enterprise', '--per-minute', perMinute, '--per-day', '100'];
  const { id, key } = await cli.json('keys', 'issue', '--owner', owner, ...limits);
  return { id: String(id), key: key as string };
}

describeWithRedis('with REDIS_URL', () => {
  let redis: RedisServer;
  let service: TestService;
  let cli: Cli;

  beforeAll(async () => {
    redis = await startRedis();
    const env = { REDIS_URL: redis.url, REDIS_PREFIX: 'shop:' };
    const bans = { BAN_AFTER_REJECTIONS: '2', BAN_SECONDS: '31536000' };
    service = await startService({ database, nowMs: Date.now(), env: { ...env, ...bans } });
    cli = new Cli({ DATABASE_URL: database.url, ...env });
  });
  afterAll(() => redis.close());

  async function send(key: string, count: number): Promise<void> {
    for (let sent = 0; sent < count; sent++) await new ApiClient(service, key).get('/v1/items');
  }

  test('owners usage › shows the requests of the running minute and day, the limits and the resets', async () => {
    const { key } = await issue(cli, 'busy', '5');
    const idle = { used: 0, limit: 5, remaining: 5, resetsAt: null };
    expect(await cli.json('owners', 'usage', 'busy')).toEqual({
      owner: 'busy',
      plan: 'enterprise',
      minute: idle,
      day: { ...idle, limit: 100, remaining: 100 },
    });
    await send(key, 3);
    const usage = await cli.json('owners', 'usage', 'busy');
    expect(usage.minute).toEqual({ used: 3, limit: 5, remaining: 2, resetsAt: TIME });
    expect(usage.day).toEqual({ used: 3, limit: 100, remaining: 97, resetsAt: TIME });
    expect(await cli.json('owners', 'usage', 'busy')).toEqual(usage);
    const { stdout } = await cli.run('owners', 'usage', 'busy');
    expect(stdout).toMatch(/^minute +\{"used":3,"limit":5,"remaining":2,"resetsAt":"\d{4}-/m);
    const smaller = ['--plan', 'enterprise', '--per-minute', '2', '--per-day', '9'];
    await cli.run('owners', 'set-plan', 'busy', ...smaller);
    const { minute } = await cli.json('owners', 'usage', 'busy');
    expect(minute).toMatchObject({ used: 3, limit: 2, remaining: 0 });
  });

  test('keys list and keys inspect › show the ban of a lineage until it is lifted', async () => {
    const { id, key } = await issue(cli, 'banned', '1');
    const { id: otherId } = await cli.json('keys', 'issue', '--owner', 'banned');
    await send(key, 3);
    const rotated = await cli.json('keys', 'rotate', id);
    const statuses = async () => {
      const keys = await cli.json('keys', 'list', '--owner', 'banned');
      return keys.map(({ status }: { status: string }) => status);
    };
    expect(await statuses()).toEqual(['banned', 'active', 'banned']);
    expect((await cli.json('keys', 'inspect', rotated.key)).status).toBe('banned');
    expect((await cli.json('keys', 'inspect', String(otherId))).status).toBe('active');
    await cli.run('keys', 'revoke', String(rotated.id), '--yes');
    expect(await statuses()).toEqual(['banned', 'active', 'revoked']);
    expect((await cli.run('keys', 'unban', id)).stderr).toMatch(/^Database: .*\n$/);
    expect((await cli.run('keys', 'unban', id)).stderr).toContain(`key ${id} was not banned`);
    expect(await statuses()).toEqual(['rotated', 'active', 'revoked']);
  });

  test('while Redis is unreachable › says so in one line, and shows what the database knows', async () => {
    const { id } = await issue(cli, 'unreachable', '5');
    const offline = new Cli({ ...cli.env, REDIS_URL: 'redis://127.0.0.1:1' });
    expect(await offline.failure(1, 'owners', 'usage', 'unreachable')).toMatch(
      /^Counters and bans cannot be read: Redis is unreachable: connect ECONNREFUSED 127\.0\.0\.1:1\.$/,
    );
    expect((await offline.json('keys', 'inspect', id)).status).toBe('active');
    const { code, stderr } = await offline.run('keys', 'list');
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringMatching(
        /\nCounters and bans cannot be read: Redis is unreachable: connect ECONNREFUSED 127\.0\.0\.1:1\.\n$/,
      ),
    });
  });
});

describe('without REDIS_URL', () => {
  test('owners usage › exits with 1 and says where the counters are; keys inspect shows the rest', async () => {
    const cli = new Cli({ DATABASE_URL: database.url });
    const { id } = await issue(cli, 'local', '5');
    expect(await cli.failure(1, 'owners', 'usage', 'local')).toMatch(NO_REDIS);
    expect((await cli.run('keys', 'inspect', id)).stderr).toMatch(NO_REDIS);
  });
});
