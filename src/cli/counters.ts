import { DAY_MS } from '../platform/config/clock.js';
import { Settings } from '../platform/config/settings.js';
import {
  type BudgetKey,
  ownerBudget,
  type RateLimitDecision,
} from '../platform/rate-limit/limit-storage.js';
import { RedisFailure } from '../platform/rate-limit/redis/circuit.js';

const NO_REDIS =
  'Counters and bans cannot be read. If the service uses Redis, set its REDIS_URL here too. Otherwise they are in its memory.';

/**
 * Reads the windows of owners and the bans of API keys from Redis. Counts nothing. Returns a decision
 * for each, or why they cannot be read, in a sentence.
 */
export async function readCounters(keys: readonly BudgetKey[]) {
  const { redis } = new Settings();
  if (!redis) return { problem: NO_REDIS };
  // Loaded here, because most commands do not need the Redis client.
  const { RedisConnection } = await import('../platform/rate-limit/redis/redis-connection.js');
  const connection = new RedisConnection(redis);
  try {
    await connection.open();
    const decisions: RateLimitDecision[] = [];
    // One at a time, so that each command to Redis keeps its time limit.
    for (const key of keys) {
      // The longest ban that BAN_SECONDS allows, because the service may have another setting.
      const budget = ownerBudget(key, { afterRejections: 0, lengthMs: 365 * DAY_MS });
      decisions.push((await connection.decide(budget, 'peek')).decision);
    }
    return { decisions };
  } catch (error) {
    if (!(error instanceof RedisFailure)) throw error;
    return { problem: `Counters and bans cannot be read: ${error.message.replace(/\.$/, '')}.` };
  } finally {
    connection.close();
  }
}
