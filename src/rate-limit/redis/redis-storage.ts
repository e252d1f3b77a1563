import { Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import type { Clock } from '../../config/clock.js';
import type { RedisSettings } from '../../config/redis-settings.js';
import { Circuit } from '../circuit.js';
import { InProcessStorage } from '../in-process-storage.js';
import {
  type Budget,
  LimitStorage,
  type LookupLimit,
  type Reading,
  type Reservation,
} from '../limit-storage.js';
import { RedisFailure } from '../redis-failure.js';
import { type LimitMode, type LimitReply, parseReply, scriptArguments } from './limit-call.js';
import { LIMIT_SCRIPTS } from './limit-script.js';
import { RedisConnection } from './redis-connection.js';
import { serverWarnings } from './server-warnings.js';

/** What is asked for by a probe before any budget has failed. */
const NO_BUDGET: Budget = {
  kind: 'owner',
  plan: 'none',
  id: 'none',
  quotas: [{ name: 'minute', limit: 1, lengthMs: 60_000 }],
};

/**
 * Counts in Redis, by one command a decision and on Redis's clock. Whatever it reads there it keeps in counters of this
 * process, and goes on with these while Redis cannot be used: from the last reading, on Redis's clock as last seen.
 */
export class RedisStorage extends LimitStorage implements OnModuleInit, OnApplicationShutdown {
  private readonly logger = new Logger(RedisStorage.name);
  private readonly connection: RedisConnection;
  private readonly own: InProcessStorage;
  private readonly warned = new Set<string>();
  /** How far Redis's clock is ahead of ours, in milliseconds. */
  private clockOffsetMs = 0;
  /** What failed last: in a Cluster, it is on the node that failed. */
  private failed = NO_BUDGET;
  override readonly circuit = new Circuit(() => this.probe());

  constructor(
    private readonly settings: RedisSettings,
    private readonly clock: Clock,
    private readonly lookupLimit: LookupLimit,
  ) {
    super();
    this.own = new InProcessStorage({ now: () => clock.now() + this.clockOffsetMs }, lookupLimit);
    this.connection = new RedisConnection(settings.address, settings.commandTimeoutMs);
    this.connection.onConnected(() => void this.checkServer());
    this.connection.onLost((failure) => this.circuit.open(failure));
  }

  /** Waits for Redis for a second and a command's time at most. */
  async onModuleInit(): Promise<void> {
    await this.connection.open();
    await this.circuit.start();
  }

  onApplicationShutdown(): void {
    this.circuit.stop();
    this.connection.close();
  }

  override take(budget: Budget): Reading | Promise<Reading> {
    return this.circuit.isOpen ? this.own.take(budget) : this.takeInRedis(budget);
  }

  override peek(budget: Budget): Reading | Promise<Reading> {
    return this.circuit.isOpen ? this.own.peek(budget) : this.peekInRedis(budget);
  }

  override reserve(address: Budget): Reservation | Promise<Reservation> {
    return this.circuit.isOpen ? this.own.reserve(address) : this.reserveInRedis(address);
  }

  private async takeInRedis(budget: Budget): Promise<Reading> {
    const reply = await this.askOrGiveUp(budget, { name: 'take' });
    return reply?.reading ?? this.own.take(budget);
  }

  private async peekInRedis(budget: Budget): Promise<Reading> {
    const reply = await this.askOrGiveUp(budget, { name: 'peek' });
    return reply?.reading ?? this.own.peek(budget);
  }

  private async reserveInRedis(address: Budget): Promise<Reservation> {
    const { lookupLimit } = this;
    const reply = await this.askOrGiveUp(address, { name: 'reserve', lookupLimit });
    if (!reply) return this.own.reserve(address);
    const { reading, mayLookUp } = reply;
    const giveBack = () => (reading.allowed ? this.giveBackInRedis(address, reading) : reading);
    return { reading, mayLookUp, giveBack };
  }

  private async giveBackInRedis(address: Budget, counted: Reading): Promise<Reading> {
    const endsAtMs = counted.windows[0]?.endsAtMs ?? 0;
    const reply = this.circuit.isOpen
      ? undefined
      : await this.askOrGiveUp(address, { name: 'giveBack', endsAtMs });
    return reply?.reading ?? this.own.giveBack(address, counted);
  }

  /** Returns undefined when Redis cannot be used. */
  private async askOrGiveUp(budget: Budget, mode: LimitMode): Promise<LimitReply | undefined> {
    try {
      return await this.ask(budget, mode);
    } catch (error) {
      if (!(error instanceof RedisFailure)) throw error;
      this.circuit.noteFailure(error);
      // Redis counts owners all the same; an address is counted here until there is memory again.
      if (error.reason === 'memory') return undefined;
      this.failed = budget;
      this.circuit.open(error);
      return undefined;
    }
  }

  /** @throws RedisFailure */
  private async ask(budget: Budget, mode: LimitMode): Promise<LimitReply> {
    const key = `${this.settings.prefix}{${budget.kind}:${budget.id}}`;
    const script = LIMIT_SCRIPTS[budget.kind];
    const values = await this.connection.run(script, key, scriptArguments(budget, mode));
    const reply = parseReply(budget, mode, values);
    const { reading, refusals } = reply;
    this.circuit.noteReading();
    this.clockOffsetMs = reading.nowMs - this.clock.now();
    this.own.record(budget, reading, refusals);
    return reply;
  }

  private async probe(): Promise<void> {
    try {
      await this.ask(this.failed, { name: 'peek' });
    } catch (error) {
      if (!(error instanceof RedisFailure && error.reason === 'memory')) throw error;
    }
  }

  /** Warns, once each, of what makes a server unfit. Not every server lets itself be asked. */
  private async checkServer(): Promise<void> {
    try {
      for (const warning of (await this.connection.info()).flatMap(serverWarnings)) {
        if (!this.warned.has(warning)) this.logger.warn({ msg: warning });
        this.warned.add(warning);
      }
    } catch (error) {
      this.logger.debug({ msg: 'Redis does not tell its version and eviction policy', err: error });
    }
  }
}
