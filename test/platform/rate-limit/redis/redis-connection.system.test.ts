import { Settings } from '../../../../src/platform/config/settings.js';
import { RedisConnection } from '../../../../src/platform/rate-limit/redis/redis-connection.js';
import { PRODUCT } from '../../../../src/product.js';
import { Relay } from '../../../harness/database/relay.js';
import {
  describeWithRedis,
  type RedisServer,
  startRedis,
  startRedisCluster,
} from '../../../harness/processes/redis.js';
import { owner } from '../../../harness/rate-limit/limit-model.js';
import { until } from '../../../harness/run/until.js';

/** The shortest limit of idle connections that servers and networks have in practice is longer. */
const IDLE_LIMIT_MS = 10_000;
const BUDGET = owner('1', 5, 100);

let connection: RedisConnection;

async function open(url: string): Promise<void> {
  const { redis } = new Settings(PRODUCT, { REDIS_URL: url });
  connection = new RedisConnection({ ...redis!, commandTimeoutMs: 1_000 });
  await connection.open();
}

function isUsable(): Promise<boolean> {
  return connection.decide(BUDGET, 'peek').then(
    () => true,
    () => false,
  );
}

async function pings({ client }: RedisServer): Promise<number> {
  const [, calls] = /cmdstat_ping:calls=(\d+)/.exec(await client.info('commandstats')) ?? [];
  return Number(calls ?? 0);
}

afterEach(() => {
  connection.close();
  jest.useRealTimers();
});

describeWithRedis('a connection to Redis', () => {
  const onlyIntervals = (): void => {
    const real = [
      'setTimeout',
      'setImmediate',
      'nextTick',
      'queueMicrotask',
      'performance',
    ] as const;
    jest.useFakeTimers({
      doNotFake: [...real, 'Date', 'hrtime', 'clearTimeout', 'clearImmediate'],
    });
  };

  it('is used every ten seconds, so that neither the server nor a network closes it', async () => {
    const redis = await startRedis();
    onlyIntervals();
    await open(redis.url);
    await until(isUsable);
    for (let count = 1; count <= 3; count++) {
      jest.advanceTimersByTime(IDLE_LIMIT_MS);
      await until(async () => (await pings(redis)) === count);
    }
    await redis.close();
  });

  it('is used every ten seconds, to each node of a Cluster that was used', async () => {
    const cluster = await startRedisCluster();
    onlyIntervals();
    await open(cluster.url);
    const ids = Array.from({ length: 20 }, (_, index) => String(index));
    await until(isUsable);
    for (const id of ids) await connection.decide(owner(id, 5, 100), 'peek');
    jest.advanceTimersByTime(IDLE_LIMIT_MS);
    for (const node of cluster.nodes) await until(async () => (await pings(node)) === 1);
    await cluster.close();
  });

  it('is replaced if the network has forgotten it', async () => {
    const redis = await startRedis();
    const relay = await Relay.open(redis.url);
    await open(relay.url);
    await until(isUsable);
    relay.forget();
    expect(await isUsable()).toBe(false);
    await until(isUsable);
    expect(relay.accepted).toBe(2);
    await relay.cut();
    await redis.close();
  });
});
