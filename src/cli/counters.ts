import { DAY_MS } from '../platform/config/clock.js';
import type { PlanLimits } from '../platform/config/plans.js';
import { Settings } from '../platform/config/settings.js';
import { type BudgetKey, ownerBudget } from '../platform/rate-limit/limit-storage.js';
import { RedisFailure } from '../platform/rate-limit/redis/circuit.js';
import { PRODUCT } from '../product.js';

/** Of an owner whose plan the store does not have any more: its counters can still be read. */
export const NO_LIMITS: PlanLimits = { perMinute: 0, perDay: 0 };

const NO_REDIS =
  'Counters and bans cannot be read. If the service uses Redis, set its REDIS_URL here too. Otherwise they are in its memory.';

/**
 * Reads the windows of owners and the bans of API keys from Redis. Counts nothing. Returns a decision
 * for each, or why they cannot be read, in a sentence.
 */
export async function readCounters(keys: readonly BudgetKey[]) {
  const { redis } = new Settings(PRODUCT);
  if (!redis) return { problem: NO_REDIS };
  // Loaded here, because most commands do not need the Redis client.
  const { RedisConnection } = await import('../platform/rate-limit/redis/redis-connection.js');
  // All commands are sent at once, not one per round trip. So each key adds a millisecond to the limit.
  const commandTimeoutMs = redis.commandTimeoutMs + keys.length;
  const connection = new RedisConnection({ ...redis, commandTimeoutMs });
  // The longest ban that BAN_SECONDS allows, because the service may have another setting.
  const bans = { afterRejections: 0, lengthMs: 365 * DAY_MS };
  const read = (key: BudgetKey) => connection.decide(ownerBudget(key, bans), 'peek');
  try {
    await connection.open();
    return { decisions: (await Promise.all(keys.map(read))).map(({ decision }) => decision) };
  } catch (error) {
    if (!(error instanceof RedisFailure)) throw error;
    return { problem: `Counters and bans cannot be read: ${error.message.replace(/\.$/, '')}.` };
  } finally {
    connection.close();
  }
}
