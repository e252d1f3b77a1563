import { Settings } from '../platform/config/settings.js';
import type { BudgetKey, RateLimitDecision } from '../platform/rate-limit/limit-storage.js';

const NO_REDIS =
  'Counters and bans are in the memory of the running service, because REDIS_URL is unset. Commands cannot read them there.';
/** API keys that are read at a time, so that each command keeps its time limit. */
const BATCH_SIZE = 100;

interface Counters {
  /** One for each API key; undefined: they cannot be read. */
  decisions?: RateLimitDecision[];
  /** Why they cannot be read, in a sentence. */
  problem?: string;
}

/** Reads the windows of owners and the bans of API keys from Redis. Counts nothing. */
export async function readCounters(keys: readonly BudgetKey[]): Promise<Counters> {
  const { redis } = new Settings();
  if (!redis) return { problem: NO_REDIS };
  // Loaded here, because most commands do not need the Redis client.
  const [{ ownerBudget }, { RedisConnection }, { RedisFailure }] = await Promise.all([
    import('../platform/rate-limit/limit-storage.js'),
    import('../platform/rate-limit/redis/redis-connection.js'),
    import('../platform/rate-limit/redis/redis-failure.js'),
  ]);
  const connection = new RedisConnection(redis);
  const peek = async (key: BudgetKey): Promise<RateLimitDecision> => {
    const budget = ownerBudget(key, { afterRejections: 0, lengthMs: 0 });
    return (await connection.decide(budget, 'peek')).decision;
  };
  try {
    await connection.open();
    const decisions: RateLimitDecision[] = [];
    for (let start = 0; start < keys.length; start += BATCH_SIZE)
      decisions.push(...(await Promise.all(keys.slice(start, start + BATCH_SIZE).map(peek))));
    return { decisions };
  } catch (error) {
    if (!(error instanceof RedisFailure)) throw error;
    return { problem: `Counters and bans cannot be read: ${error.message}.` };
  } finally {
    connection.close();
  }
}

/** The running windows by name, as operators see them. */
export type Usage = ReturnType<typeof usageOf>;

/** Returns the windows of a decision by name. */
export function usageOf({ windows }: RateLimitDecision) {
  const entries = windows.map(({ quota: { name, limit }, used, endsAtMs }) => {
    // null: the window starts with the next request.
    const resetsAt = used > 0 ? new Date(endsAtMs) : null;
    return [name, { used, limit, remaining: Math.max(0, limit - used), resetsAt }] as const;
  });
  return Object.fromEntries(entries);
}
