import { Injectable } from '@nestjs/common';
import { DAY_MS } from '../../config/clock.js';
import { Plans, type PlanLimits, type StoredPlan } from '../../config/plan-limits.js';
import { Settings } from '../../config/settings.js';
import { type BudgetKey, ownerBudget } from '../../rate-limit/limit-storage.js';
import { RedisFailure } from '../../rate-limit/redis/circuit.js';

/** Of an owner whose plan the store does not have any more: its counters can still be read. */
const NO_LIMITS: PlanLimits = { perMinute: 0, perDay: 0 };

const NO_REDIS =
  'Counters and bans cannot be read. If the service uses Redis, set its REDIS_URL here too. Otherwise they are in its memory.';

/** An owner, or one of its API keys. */
export interface Counted extends Omit<BudgetKey, 'limits'> {
  readonly owner: StoredPlan;
}

/** The counters of the service in Redis. */
@Injectable()
export class Counters {
  constructor(
    private readonly settings: Settings,
    private readonly plans: Plans,
  ) {}

  /**
   * Reads the windows of owners and the bans of API keys. Counts nothing. Returns a decision for each, or why
   * they cannot be read, in a sentence.
   */
  async read(counted: readonly Counted[]) {
    // The settings that are injected have no Redis (application.ts).
    const { redis } = new Settings(this.settings.product);
    if (!redis) return { problem: NO_REDIS };
    // Loaded here, because most commands do not need the Redis client.
    const { RedisConnection } = await import('../../rate-limit/redis/redis-connection.js');
    // All commands are sent at once, not one per round trip. So each key adds a millisecond to the limit.
    const commandTimeoutMs = redis.commandTimeoutMs + counted.length;
    const connection = new RedisConnection({ ...redis, commandTimeoutMs });
    // The longest ban that BAN_SECONDS allows, because the service may have another setting.
    const bans = { afterRejections: 0, lengthMs: 365 * DAY_MS };
    const decide = ({ owner, ...key }: Counted) => {
      const limits = this.plans.findLimits(owner) ?? NO_LIMITS;
      return connection.decide(ownerBudget({ ...key, limits }, bans), 'peek');
    };
    try {
      await connection.open();
      return {
        decisions: (await Promise.all(counted.map(decide))).map(({ decision }) => decision),
      };
    } catch (error) {
      if (!(error instanceof RedisFailure)) throw error;
      return { problem: `Counters and bans cannot be read: ${error.message.replace(/\.$/, '')}.` };
    } finally {
      connection.close();
    }
  }
}
