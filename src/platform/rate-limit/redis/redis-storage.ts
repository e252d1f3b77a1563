import { Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { type Clock, MINUTE_MS, SECOND_MS } from '../../config/clock.js';
import type { RedisSettings } from '../../config/redis-settings.js';
import { InProcessStorage } from '../in-process-storage.js';
import {
  type Budget,
  type LimitMode,
  LimitStorage,
  Quota,
  type RateLimitDecision,
} from '../limit-storage.js';
import { RedisConnection } from './redis-connection.js';
import { Circuit, RedisFailure } from './circuit.js';

/** The budget that probes read until a command for another budget has failed. */
const PROBE_BUDGET: Budget = {
  kind: 'owner',
  id: 'none',
  quotas: [new Quota('minute', 1, MINUTE_MS)],
};

const SAFE_POLICY = 'noeviction';

/**
 * Counts in Redis, with one command per decision, on Redis's clock. It copies each state that it
 * reads to counters in this process. While Redis is unavailable, it counts in these, starting from
 * the last state that it read, on Redis's clock as last seen.
 */
export class RedisStorage extends LimitStorage implements OnModuleInit, OnApplicationShutdown {
  private readonly logger = new Logger(RedisStorage.name);
  private readonly connection: RedisConnection;
  private readonly fallback: InProcessStorage;
  private loggedPolicy: string | undefined;
  /** How far Redis's clock is ahead of our wall clock, roughly. */
  private clockOffsetMs = 0;
  /** The budget that failed last. In a Cluster, it leads the probe to the node that failed. */
  private failedBudget = PROBE_BUDGET;
  override readonly circuit = new Circuit(() => this.decideInRedis(this.failedBudget, 'probe'));

  constructor(
    settings: RedisSettings,
    private readonly clock: Clock,
  ) {
    super();
    this.fallback = new InProcessStorage({
      now: () => clock.now() + this.clockOffsetMs,
      monotonicMs: () => clock.monotonicMs(),
    });
    this.connection = new RedisConnection(settings);
    this.connection.client
      .on('ready', () => void this.checkServer())
      .on('close', () => this.circuit.open(this.connection.connectionFailure()));
  }

  /** Waits for Redis, at most one second and the time limit of a command. */
  async onModuleInit(): Promise<void> {
    await this.connection.open();
    const record = (failure: RedisFailure) => this.circuit.recordFailure(failure);
    await this.decideInRedis(PROBE_BUDGET, 'probe').catch(record);
  }

  onApplicationShutdown(): void {
    this.circuit.stop();
    this.connection.close();
  }

  /** If Redis is unavailable, the request does not wait for it. */
  override async decide(budget: Budget, mode: LimitMode): Promise<RateLimitDecision> {
    if (this.circuit.isOpen) return this.fallback.decide(budget, mode);
    try {
      return await this.decideInRedis(budget, mode);
    } catch (error) {
      if (!(error instanceof RedisFailure)) throw error;
      // Only addresses fail for lack of memory. This process counts them until Redis has memory.
      if (error.reason !== 'memory') this.failedBudget = budget;
      this.circuit.recordFailure(error);
      return this.fallback.decide(budget, mode);
    }
  }

  override peekLocal(budget: Budget): RateLimitDecision {
    return this.fallback.peekLocal(budget);
  }

  /** @throws RedisFailure */
  private async decideInRedis(
    budget: Budget,
    mode: LimitMode | 'probe',
  ): Promise<RateLimitDecision> {
    const { decision, rejections } = await this.connection.decide(budget, mode);
    const offsetMs = decision.nowMs - this.clock.now();
    // A smaller change is the time that the reply took.
    if (Math.abs(offsetMs - this.clockOffsetMs) > SECOND_MS) this.clockOffsetMs = offsetMs;
    this.fallback.setState(budget, decision, rejections);
    return decision;
  }

  /** Logs an eviction policy once. A user with an ACL may lack the permission for INFO. */
  private async checkServer(): Promise<void> {
    try {
      for (const info of await this.connection.info()) {
        const policy = /^maxmemory_policy:(.*?)\r?$/m.exec(info)?.[1] ?? SAFE_POLICY;
        if (policy === SAFE_POLICY || policy === this.loggedPolicy) continue;
        this.loggedPolicy = policy;
        const msg = `Redis evicts keys (maxmemory-policy ${policy}): owners can lose their counters when memory is short. Set maxmemory-policy noeviction.`;
        this.logger.warn({ msg });
      }
    } catch (error) {
      this.logger.debug({ msg: 'Redis did not report its eviction policy', err: error });
    }
  }
}
