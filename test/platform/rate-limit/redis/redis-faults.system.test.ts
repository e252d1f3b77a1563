import { PRODUCT } from '../../../../src/product.js';
import { type ApiResponse, ApiClient, send } from '../../../harness/http/client.js';
import { useDatabase } from '../../../harness/database/database.js';
import { createOwner } from '../../../harness/database/factories.js';
import { askUntil, sequentially, limitsOf } from '../../../harness/rate-limit/limits.js';
import { RawConnection } from '../../../harness/http/raw-connection.js';
import {
  describeWithRedis,
  type RedisServer,
  startRedis,
} from '../../../harness/processes/redis.js';
import { metric } from '../../../harness/service/metrics.js';
import { until } from '../../../harness/run/until.js';
import { startService, type TestService } from '../../../harness/service/service.js';

/** Longer than the default, because a busy machine can pause a process for 0.3 seconds. */
const TIMEOUT_MS = 1_000;
/** Many times the time limit of a command. Redis is unavailable until all responses have arrived. */
const BOUND_MS = 30_000;
const ROUTE = '/v1/nothing';

interface Timed {
  response: ApiResponse;
  tookMs: number;
}

const database = useDatabase();
let redis: RedisServer;
let service: TestService;

async function start(options?: Parameters<typeof startRedis>[0]): Promise<void> {
  redis = await startRedis(options);
  service = await startReplica();
}

function startReplica(redisUrl = redis.url): Promise<TestService> {
  const env = { REDIS_URL: redisUrl, REDIS_COMMAND_TIMEOUT_SECONDS: String(TIMEOUT_MS / 1000) };
  return startService({ database, env });
}

async function stop(): Promise<void> {
  await service.close();
  await redis.close();
}

/** Returns a new owner, and what sends requests of it. */
async function newCaller(perMinute: number, perDay = 1_000_000) {
  const { id, key } = await createOwner(database, { limits: { perMinute, perDay } });
  const client = new ApiClient(service, key);
  return { id, ask: () => client.get(ROUTE) };
}

/** Returns the log lines of the circuit, in order. */
function changes(): string[] {
  return service
    .logs()
    .filter(({ msg = '' }) => /counting rate limits/i.test(msg))
    .map(({ level, msg }) => `${Number(level)} ${msg}`);
}

/**
 * Waits for a state of readiness, which is 200 with and without Redis, and of the metric. Both are
 * asked again, because a busy machine can open the circuit once more in between.
 */
async function readinessIs(status: 'ok' | 'degraded'): Promise<void> {
  const checks = { redis: status === 'ok' ? 'up' : 'down', database: 'up' };
  await until(async () => {
    const response = await askUntil(
      () => send(service, '/health/ready'),
      ({ json }) => json.status === status,
    );
    expect(response).toMatchObject({ status: 200, json: { checks } });
    return (await metric(service, 'redis_circuit_open')) === Number(status === 'degraded');
  });
}

/** Sends requests in parallel until the promise is settled. */
async function under<Value>(
  ask: () => Promise<ApiResponse>,
  meanwhile: () => Promise<Value>,
): Promise<Timed[]> {
  const responses: Timed[] = [];
  let over = false;
  const caller = async (): Promise<void> => {
    while (!over) {
      const startedAtMs = performance.now();
      const response = await ask();
      responses.push({ response, tookMs: performance.now() - startedAtMs });
    }
  };
  const callers = Promise.all([caller(), caller(), caller(), caller()]);
  await meanwhile().finally(() => (over = true));
  await callers;
  return responses;
}

function expectUnharmed(responses: Timed[], status = 404): void {
  const statuses = new Set(responses.map(({ response }) => response.status));
  expect([...statuses]).toEqual([status]);
  expect(Math.max(...responses.map(({ tookMs }) => tookMs))).toBeLessThan(BOUND_MS);
}

describeWithRedis('under load', () => {
  beforeAll(() => start());
  afterAll(stop);
  beforeEach(() => readinessIs('ok'));

  it.each<[string, RegExp, () => Promise<void>, () => Promise<void>]>([
    [
      'hangs and continues',
      /^40 .*: Redis did not respond in time$/,
      () => redis.signal('SIGSTOP'),
      () => redis.signal('SIGCONT'),
    ],
    [
      'is killed and restarts empty',
      /^40 .*: Redis is unreachable/,
      () => redis.signal('SIGKILL'),
      () => redis.start(),
    ],
  ])(
    'Redis %s: no 5xx, no wait, one log line per change, and automatic recovery',
    async (_, line, harm, heal) => {
      const { ask } = await newCaller(100_000);
      const before = changes().length;
      const first = limitsOf(await ask());
      const harmed = await under(ask, async () => {
        await harm();
        await readinessIs('degraded');
        // At least this many requests after the change.
        await sequentially(50, ask);
      });
      expectUnharmed(harmed);
      // Counting continues from the last state: the window is the same and nothing is refunded.
      const limits = harmed.map(({ response }) => limitsOf(response));
      expect(new Set(limits.map(({ reset }) => reset))).toEqual(new Set([first.reset]));
      expect(Math.min(...limits.map(({ remaining }) => remaining))).toBeLessThanOrEqual(
        first.remaining - 50,
      );
      const next = limitsOf(await ask());
      // Requests in progress when Redis stopped may have been counted there.
      const spent = first.remaining - next.remaining;
      expect(spent).toBeGreaterThanOrEqual(harmed.length + 51 - 8);
      expect(spent).toBeLessThanOrEqual(harmed.length + 51);
      const healed = await under(ask, async () => {
        await heal();
        await readinessIs('ok');
        await sequentially(20, ask);
      });
      expectUnharmed(healed);
      // A busy machine can open the circuit again, but each line is a change.
      await readinessIs('ok');
      const lines = changes().slice(before);
      expect(lines[0]).toMatch(line);
      const again = lines.map((text) => text === '30 Counting rate limits in Redis again');
      expect(again).toEqual(lines.map((_line, index) => index % 2 === 1));
      expect(again.at(-1)).toBe(true);
      expect(await redis.client.keys(`${PRODUCT.redisPrefix}*`)).not.toEqual([]);
    },
  );

  it('a ban stays active with the same end while Redis is unavailable', async () => {
    const { ask } = await newCaller(2);
    const before = limitsOf(await sequentially(4, ask));
    await redis.signal('SIGSTOP');
    const during = await under(ask, () => readinessIs('degraded'));
    expectUnharmed(during, 429);
    for (const { response } of during) {
      expect(response.json.code).toBe('api_key_banned');
      expect(limitsOf(response)).toEqual(before);
    }
    await redis.signal('SIGCONT');
    await readinessIs('ok');
    expect(limitsOf(await ask())).toEqual(before);
  });

  it('out of memory, owners are still counted in Redis, addresses in the process, without a 5xx', async () => {
    await redis.client.flushall();
    await redis.client.config('SET', 'maxmemory', '1');
    let id: string;
    let before: number;
    // On a busy machine, a slow command opens the circuit, and the process counts. Then another owner is counted.
    do {
      await readinessIs('ok');
      const caller = await newCaller(20);
      id = caller.id;
      before = changes().length;
      expect(limitsOf(await sequentially(15, caller.ask)).remaining).toBe(5);
    } while (changes().length > before);
    expect(await redis.client.hget(`${PRODUCT.redisPrefix}{owner:${id}}`, 'minute')).toMatch(
      /^15 /,
    );
    const response = await sequentially(7, () => send(service, ROUTE));
    expect(response.status).toBe(401);
    expect(limitsOf(response).remaining).toBe(293);
    expect(await redis.client.keys('*address*')).toEqual([]);
    expect(changes().slice(before)).toEqual([]);
    // It returns to Redis also when the command of an address has failed last.
    await redis.signal('SIGSTOP');
    await send(service, ROUTE);
    await redis.signal('SIGCONT');
    await readinessIs('ok');
    await redis.client.config('SET', 'maxmemory', '0');
    await send(service, ROUTE);
    expect(await redis.client.keys('*address*')).toHaveLength(1);
  });

  it('a client that goes on after a malformed message, while Redis does not respond, gets one response', async () => {
    await redis.signal('SIGSTOP');
    const connection = await RawConnection.open(service, 'hello\r\n\r\n');
    for (let count = 0; count < 3; count++) {
      // By then, the service has read the bytes before.
      await send(service, '/health/live');
      connection.write('hello again\r\n\r\n');
    }
    await send(service, '/health/live');
    await redis.signal('SIGCONT');
    expect((await connection.response()).status).toBe(400);
    await connection.serverEnd();
    await readinessIs('ok');
    const logs = service.logs();
    expect(logs.filter(({ msg }) => msg === 'malformed request')).toHaveLength(1);
    expect(logs.filter(({ level }) => Number(level) >= 50)).toEqual([]);
  });

  it('a Redis server that becomes a replica is left for a new connection, because its address may lead to the new primary', async () => {
    const { ask } = await newCaller(5);
    const connections = async () =>
      Number(/total_connections_received:(\d+)/.exec(await redis.client.info('stats'))?.[1]);
    const before = await connections();
    await redis.client.replicaof('127.0.0.1', '1');
    expect((await ask()).status).toBe(404);
    await until(async () => (await connections()) > before).finally(() =>
      redis.client.replicaof('NO', 'ONE'),
    );
    await readinessIs('ok');
  });
});

describeWithRedis('Redis is unavailable at start', () => {
  beforeAll(() => start({ absent: true }));
  afterAll(stop);

  it('the service starts, counts in the process, and uses Redis once it is available', async () => {
    const { ask } = await newCaller(5);
    expect(limitsOf(await sequentially(2, ask)).remaining).toBe(3);
    await service.waitForLog(({ msg = '' }) => msg.includes('in this process'));
    const reason = /^40 .* in this process: Redis is unreachable: connect ECONNREFUSED [\d.:]+$/;
    expect(changes()).toEqual([expect.stringMatching(reason)]);
    await redis.start();
    await readinessIs('ok');
    await service.waitForLog(({ msg }) => msg === 'Counting rate limits in Redis again');
    expect(changes().at(-1)).toBe('30 Counting rate limits in Redis again');
    expect(limitsOf(await ask()).remaining).toBe(4);
  });
});

describeWithRedis('Redis with a password', () => {
  const REJECTED =
    '^Counting rate limits in this process: Redis rejected the password or the command: ';

  beforeAll(async () => {
    redis = await startRedis({ args: ['--requirepass', 'right'], password: 'right' });
  });
  afterAll(() => redis.close());

  it.each([
    ['a wrong password', ':wrong@', 'WRONGPASS'],
    ['an unknown user', 'nobody:wrong@', 'WRONGPASS'],
    ['no password', '', 'NOAUTH'],
  ])('GET › no 5xx with %s, and one log line says why', async (_title, credentials, reply) => {
    service = await startReplica(redis.url.replace('redis://', `redis://${credentials}`));
    const { ask } = await newCaller(5);
    expect(limitsOf(await ask()).remaining).toBe(4);
    const msg = expect.stringMatching(`${REJECTED}${reply} `) as string;
    const warnings = service.logs().filter(({ level }) => Number(level) >= 40);
    expect(warnings).toMatchObject([{ level: 40, msg }]);
    expect(service.output()).not.toContain('wrong@');
    await service.close();
  });

  it('GET › a later failure has a reason of its own', async () => {
    service = await startReplica(redis.url.replace('redis://', 'redis://:wrong@'));
    await readinessIs('degraded');
    await redis.client.config('SET', 'requirepass', 'wrong');
    await readinessIs('ok');
    await redis.signal('SIGKILL');
    // The service notices it without a request.
    await readinessIs('degraded');
    expect(changes().at(-1)).toMatch(/^40 .*: Redis is unreachable/);
    await service.close();
  });
});

describeWithRedis('Redis refuses a command at the start of a connection', () => {
  const LIMITED = '~* +evalsha +eval +time +hmget +hset +hdel +hrandfield +pexpiretime +pexpireat';

  beforeAll(async () => {
    redis = await startRedis({ args: ['--databases', '4'] });
    await redis.client.call('ACL', 'SETUSER', 'limited', 'on', '>right', ...LIMITED.split(' '));
  });
  afterAll(() => redis.close());

  it.each([
    ['a database that does not exist', '', '/4', 'ERR DB index is out of range'],
    ['a database that the ACL does not allow', 'limited:right@', '/1', 'NOPERM'],
    ['an unknown user, although the server needs no password', 'nobody:wrong@', '/1', 'WRONGPASS'],
  ])('GET › %s: nothing is counted in any database, and the cause is logged', async (...row) => {
    const [, credentials, path, reply] = row;
    const url = redis.url.replace('redis://', `redis://${credentials}`);
    service = await startReplica(url + path);
    const { ask } = await newCaller(50);
    for (let sent = 0; sent < 20; sent++) expect((await ask()).status).toBe(404);
    await readinessIs('degraded');
    expect(await redis.client.info('keyspace')).not.toContain('keys=');
    const cause = expect.stringMatching(`Redis rejected the password or the command: .*${reply}`);
    expect(changes()).toEqual([cause]);
    const changed = service.logs().filter(({ msg }) => msg === 'component changed');
    expect(changed).toMatchObject([{ component: 'redis', state: 'down', cause }]);
    await service.close();
  });

  it.each(['time', 'hmget', 'hset', 'hdel', 'hrandfield', 'pexpiretime', 'pexpireat'])(
    'GET › an ACL without %s: degraded, with one log line, until it is allowed',
    async (command) => {
      await redis.client.call('ACL', 'SETUSER', 'partial', 'on', '>right', ...LIMITED.split(' '));
      await redis.client.call('ACL', 'SETUSER', 'partial', `-${command}`);
      service = await startReplica(redis.url.replace('redis://', 'redis://partial:right@'));
      const { ask } = await newCaller(2);
      const failures = () => metric(service, 'redis_failures_total{reason="rejection"}');
      await until(async () => {
        await ask();
        return (await failures()) >= 4;
      });
      await readinessIs('degraded');
      expect(changes()).toEqual([expect.stringMatching(/Redis rejected .* script/)]);
      await redis.client.call('ACL', 'SETUSER', 'partial', `+${command}`);
      await readinessIs('ok');
      expect(await redis.client.hkeys(`${PRODUCT.redisPrefix}{owner:none}`)).toEqual([]);
      await service.close();
    },
  );

  it('GET › the log has no address of a caller if Redis does not know the command', async () => {
    const renamed = await startRedis({ args: ['--rename-command', 'EVALSHA', ''] });
    service = await startReplica(renamed.url);
    for (let sent = 0; sent < 3; sent++) await send(service, ROUTE);
    await readinessIs('degraded');
    expect(changes().at(-1)).toMatch(/: ERR unknown command 'evalsha'$/);
    await service.close();
    await renamed.close();
  });

  it('GET › a database that becomes available is used, and no other one', async () => {
    service = await startReplica(`${redis.url.replace('redis://', 'redis://limited:right@')}/1`);
    await readinessIs('degraded');
    await redis.client.call('ACL', 'SETUSER', 'limited', '+select');
    await readinessIs('ok');
    const { id, ask } = await newCaller(50);
    expect(limitsOf(await ask()).remaining).toBe(49);
    await redis.client.select(1);
    expect(await redis.client.keys('*')).toEqual([`${PRODUCT.redisPrefix}{owner:${id}}`]);
    await redis.client.select(0);
    expect(await redis.client.dbsize()).toBe(0);
    await service.close();
  });
});
