import { Cluster } from 'ioredis';
import { PRODUCT } from '../../../../src/product.js';
import { useDatabase } from '../../../harness/database/database.js';
import { ApiClient } from '../../../harness/http/client.js';
import { Cli } from '../../../harness/processes/command.js';
import { Relay } from '../../../harness/database/relay.js';
import {
  describeWithRedis,
  type RedisServer,
  startRedis,
  startRedisCluster,
} from '../../../harness/processes/redis.js';
import { until } from '../../../harness/run/until.js';
import { startService, type TestService } from '../../../harness/service/service.js';

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
    expect(stdout).toMatch(
      /^minute +3 of 5, resets at \d{4}-[\dT:-]+Z\nday +3 of 100, resets at /m,
    );
    const smaller = ['--plan', 'enterprise', '--per-minute', '2', '--per-day', '9'];
    await cli.run('owners', 'set-plan', 'busy', ...smaller);
    const { minute } = await cli.json('owners', 'usage', 'busy');
    expect(minute).toMatchObject({ used: 3, limit: 2, remaining: 0 });
  });

  test('owners usage › lists all owners, the most used in the day first, in 80 columns', async () => {
    await database.query('DELETE FROM api_keys; DELETE FROM owners');
    const keys = [];
    for (const name of ['a', 'Municipal animal shelter, north', 'c'])
      keys.push((await issue(cli, name, '5')).key);
    await send(keys[1]!, 3);
    await send(keys[2]!, 1);
    const usages = (await cli.json('owners', 'usage')) as { owner: string; day: object }[];
    expect(usages.map(({ owner }) => owner)).toEqual(['Municipal animal shelter, north', 'c', 'a']);
    expect(usages[0]).toEqual(await cli.json('owners', 'usage', 'Municipal animal shelter, north'));
    const { stdout } = await cli.run('owners', 'usage');
    expect(stdout.split('\n')[1]).toMatch(
      /^Municipal animal shelte… +enterprise +3 of 5 +3 of 100$/,
    );
    const csv = (await cli.run('owners', 'usage', '--csv')).stdout.split('\r\n');
    const columns = 'minuteUsed,minuteLimit,minuteResetsAt,dayUsed,dayLimit,dayResetsAt';
    expect(csv[0]).toBe(`owner,plan,${columns}`);
    expect(csv[1]).toMatch(
      /^"Municipal animal shelter, north",enterprise,3,5,[\d-]{10}T.*Z,3,100,[\d-]{10}T.*Z$/,
    );
    expect(csv.slice(3)).toEqual(['a,enterprise,0,5,,0,100,', '']);
    await database.query('DELETE FROM api_keys; DELETE FROM owners');
    expect(await cli.json('owners', 'usage')).toEqual([]);
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
    const inBan = { status: 'banned', bannedUntil: TIME };
    expect(await cli.json('keys', 'inspect', rotated.key)).toMatchObject(inBan);
    const valid = { status: 'active', bannedUntil: null };
    expect(await cli.json('keys', 'inspect', String(otherId))).toMatchObject(valid);
    const keys = `${PRODUCT.command} keys`;
    const note = `\`${keys} inspect ID\` shows when a ban ends, and \`${keys} unban ID\` ends it now`;
    expect((await cli.run('keys', 'list')).stderr).toContain(note);
    await cli.run('keys', 'revoke', String(rotated.id), '--yes');
    expect(await statuses()).toEqual(['banned', 'active', 'revoked']);
    expect((await cli.run('keys', 'unban', id)).stderr).toMatch(/^Database: .*\n$/);
    expect((await cli.run('keys', 'unban', id)).stderr).toContain(
      `key ${id} was not banned. Its count of rejections restarts.`,
    );
    const recorded = await database.query(
      `SELECT details -> 'wasBanned' AS "wasBanned" FROM operator_actions
        WHERE action = 'keys unban' ORDER BY id`,
    );
    expect(recorded).toEqual([{ wasBanned: true }, { wasBanned: false }]);
    expect(await statuses()).toEqual(['rotated', 'active', 'revoked']);
  });

  test('keys list › sends the commands for all keys before the first reply', async () => {
    const { id } = await issue(cli, 'many', '5');
    await database.query(
      `INSERT INTO api_keys (owner_id, hash, hint)
       SELECT owner_id, sha256(number::text::bytea), '' FROM api_keys, generate_series(1, 300) AS number
        WHERE id = $1`,
      [id],
    );
    const relay = await Relay.open(redis.url);
    relay.hold();
    const late = new Cli({ ...cli.env, REDIS_URL: relay.url });
    expect((await late.run('keys', 'list', '--owner', 'many')).stderr).toContain(
      'not respond in time',
    );
    await until(() => relay.timesSent(Buffer.from('shop:{owner:')) === 301);
    expect(await cli.json('keys', 'list', '--owner', 'many')).toHaveLength(301);
  });

  test('keys list and owners usage › also show an owner whose plan the store does not have', async () => {
    const { id } = await issue(cli, 'former plan', '5');
    await database.query(
      "UPDATE owners SET plan = 'former', limit_per_minute = NULL, limit_per_day = NULL WHERE name = 'former plan'",
    );
    expect(await cli.json('keys', 'inspect', id)).toMatchObject({ plan: 'former' });
    expect(await cli.json('keys', 'list', '--owner', 'former plan')).toHaveLength(1);
    expect(await cli.json('owners', 'usage', 'former plan')).toMatchObject({ plan: 'former' });
  });

  test('while Redis is unreachable › says so in one line, and shows what the database knows', async () => {
    const { id } = await issue(cli, 'unreachable', '5');
    const offline = new Cli({ ...cli.env, REDIS_URL: 'redis://127.0.0.1:1' });
    expect(await offline.failure(1, 'owners', 'usage', 'unreachable')).toMatch(
      /^Counters and bans cannot be read: Redis is unreachable: connect ECONNREFUSED 127\.0\.0\.1:1\.$/,
    );
    const shown = await offline.json('keys', 'inspect', id);
    expect(shown.status).toBe('active');
    expect(shown).not.toHaveProperty('bannedUntil');
    const { code, stderr } = await offline.run('keys', 'list');
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringMatching(
        RegExp(
          `\nCounters and bans cannot be read: Redis is unreachable: connect ECONNREFUSED 127\\.0\\.0\\.1:1\\. The log line "API key banned" .* \`${PRODUCT.command} keys unban ID\` ends a ban\\.\n$`,
        ),
      ),
    });
  });
});

describeWithRedis('with a Redis Cluster', () => {
  test('keys list › reads the bans of owners on every node', async () => {
    const cluster = await startRedisCluster();
    const client = new Cluster(cluster.nodes.map(({ url }) => url));
    const env = {
      REDIS_URL: cluster.url,
      REDIS_PREFIX: 'shop:',
      REDIS_COMMAND_TIMEOUT_SECONDS: '1',
    };
    const cli = new Cli({ DATABASE_URL: database.url, ...env });
    const banned: string[] = [];
    for (let owner = 0; owner < 9; owner++) {
      const { id } = await issue(cli, `owner ${owner}`, '1');
      const [row] = await database.query<{ owner: string }>(
        'SELECT owner_id AS owner FROM api_keys WHERE id = $1',
        [id],
      );
      const ban = `0 0 ${Date.now() + 3_600_000} 0`;
      await client.hset(`shop:{owner:${row!.owner}}`, `ban:${id}`, ban);
      banned.push(id);
    }
    const sizes = await Promise.all(cluster.nodes.map((node) => node.client.dbsize()));
    expect(sizes.filter((size) => size > 0).length).toBeGreaterThan(1);
    const listed = (await cli.json('keys', 'list', '--status', 'banned')) as { id: number }[];
    expect(listed.map(({ id }) => String(id))).toEqual(banned);
    client.disconnect();
    await cluster.close();
  });
});

test('owners usage without REDIS_URL › exits with 1 and says where the counters are; keys inspect shows the rest', async () => {
  const cli = new Cli({ DATABASE_URL: database.url });
  const { id } = await issue(cli, 'local', '5');
  expect(await cli.failure(1, 'owners', 'usage', 'local')).toMatch(NO_REDIS);
  expect((await cli.run('keys', 'inspect', id)).stderr).toMatch(NO_REDIS);
});
