import { randomBytes } from 'node:crypto';
import { Settings } from '../../../../src/platform/config/settings.js';
import type { Budget } from '../../../../src/platform/rate-limit/limit-storage.js';
import { RedisStorage } from '../../../../src/platform/rate-limit/redis/redis-storage.js';
import {
  describeWithRedisClock,
  type RedisServer,
  startRedis,
} from '../../../harness/processes/redis.js';
import { owner, START_MS } from '../../../harness/rate-limit/limit-model.js';
import { DAY_MS, MINUTE_MS } from '../../../harness/rate-limit/limits.js';
import {
  itKeepsTheRules,
  type StorageUnderTest,
} from '../../../harness/rate-limit/storage-rules.js';
import { PRODUCT } from '../../../../src/product.js';

const HOUR_MS = 3_600_000;

describeWithRedisClock('counters in Redis', () => {
  let redis: RedisServer;
  const storages: RedisStorage[] = [];
  let prefix = '';

  beforeAll(async () => {
    redis = await startRedis({ nowMs: START_MS });
  });
  afterAll(() => redis.close());
  afterEach(() => {
    for (const storage of storages.splice(0)) {
      // The test used Redis, not the fallback.
      expect(Object.values(storage.circuit.failures)).toEqual([0, 0, 0, 0]);
      expect(storage.circuit.isOpen).toBe(false);
      storage.onApplicationShutdown();
    }
  });

  async function create(): Promise<StorageUnderTest & { storage: RedisStorage }> {
    let nowMs = START_MS;
    redis.setClock(nowMs);
    prefix = `${randomBytes(6).toString('hex')}:`;
    const settings = new Settings(PRODUCT, { REDIS_URL: redis.url }).redis;
    if (!settings) throw new Error('REDIS_URL was not read');
    const storage = new RedisStorage(
      { ...settings, prefix, commandTimeoutMs: 5_000 },
      { now: () => nowMs, monotonicMs: () => nowMs },
    );
    await storage.onModuleInit();
    storages.push(storage);
    const setClock = (ms: number): void => redis.setClock((nowMs = ms));
    return { storage, setClock };
  }

  itKeepsTheRules(create, { seeds: 3, length: 1_000 });

  const banned = (lineageId: string, lengthMs = 300_000): Budget => ({
    ...owner('1', 1, 100),
    ban: { lineageId, unbanCount: 0, afterRejections: 2, lengthMs },
  });
  const key = (): string => `${prefix}{owner:1}`;

  it('expire when the last window has ended, and not before', async () => {
    const { storage, setClock } = await create();
    await storage.decide(owner('1', 5, 5), 'consume');
    setClock(START_MS + MINUTE_MS + 1);
    await storage.decide(owner('1', 5, 5), 'consume');
    setClock(START_MS + DAY_MS - 1);
    expect(await redis.client.exists(key())).toBe(1);
    setClock(START_MS + DAY_MS + 1);
    expect(await redis.client.exists(key())).toBe(0);
  });

  it('use one Redis key and slot per budget, with REDIS_PREFIX', async () => {
    const { storage } = await create();
    await storage.decide(banned('a'), 'consume');
    await storage.decide(banned('a'), 'consume');
    expect(await redis.client.keys(`${prefix}*`)).toEqual([key()]);
    expect(Object.keys(await redis.client.hgetall(key())).sort()).toEqual([
      'ban:a',
      'day',
      'minute',
    ]);
  });

  it('have passed if they end later than one length after the clock of the server was set back', async () => {
    const { storage, setClock } = await create();
    for (let time = 0; time < 3; time++) await storage.decide(banned('a'), 'consume');
    setClock(START_MS - HOUR_MS);
    expect(await storage.decide(banned('a'), 'consume')).toMatchObject({
      allowed: true,
      nowMs: START_MS - HOUR_MS,
      windows: [
        { quota: banned('a').quotas[0], used: 1, endsAtMs: START_MS - HOUR_MS + MINUTE_MS },
        { quota: banned('a').quotas[1], used: 1, endsAtMs: START_MS - HOUR_MS + DAY_MS },
      ],
    });
    expect(await storage.decide(banned('a'), 'consume')).toMatchObject({ banBegins: false });
    expect(await storage.decide(banned('a'), 'consume')).toMatchObject({
      banBegins: true,
      bannedUntilMs: START_MS - HOUR_MS + 300_000,
    });
  });
});
