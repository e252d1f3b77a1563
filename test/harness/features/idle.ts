// Lets connections to the database age, and hours pass without a request.
import { once } from 'node:events';
import { Controller, Get, Injectable, Module, Post } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { Clock, Public } from '#platform';
import { KeyUsage } from '../../../src/platform/access/usage/key-usage.js';
import { BoundedPool } from '../../../src/platform/database/pools/bounded-pool.js';
import { DatabaseProbe } from '../../../src/platform/database/pools/database-probe.js';
import { Idempotency } from '../../../src/platform/idempotency/idempotency.js';

/** How much faster idle connections age. */
const SPEED = 2_500;
const HOUR_S = 3_600;

/** The clock of the host (programs/service-host.ts). */
type TestClock = Clock & { set(nowMs: number): void };

@Public()
@Controller('connections')
class ConnectionsController {
  constructor(private readonly modules: ModuleRef) {}

  /** How long the pools keep idle connections, in milliseconds. */
  @Get()
  limits() {
    return this.pools().map(({ options }) => options.idleTimeoutMillis);
  }

  @Post('aged')
  async age() {
    for (const pool of this.pools()) {
      pool.options.idleTimeoutMillis = (pool.options.idleTimeoutMillis ?? 0) / SPEED;
      await useAll(pool);
    }
  }

  /** Returns that of the requests and that of the probe. */
  private pools(): BoundedPool[] {
    const probe: unknown = this.modules.get(DatabaseProbe, { strict: false });
    const { pool } = probe as { pool: BoundedPool };
    return [this.modules.get(BoundedPool, { strict: false }), pool];
  }
}

/** The limit of a connection counts from its next use. */
async function useAll(pool: BoundedPool): Promise<void> {
  const used = await Promise.all(Array.from({ length: pool.options.max }, () => pool.connect()));
  for (const connection of used) connection.release();
}

@Injectable()
class IdleHours {
  constructor(
    private readonly modules: ModuleRef,
    private readonly clock: Clock,
  ) {}

  private get pool(): BoundedPool {
    return this.modules.get(BoundedPool, { strict: false });
  }

  /** In these hours, connections are idle for longer than their limit. */
  async begin(): Promise<void> {
    this.pool.options.idleTimeoutMillis = 1;
    await useAll(this.pool);
    await this.untilClosed();
  }

  /** Calls what the service calls on a schedule. */
  async pass(): Promise<void> {
    const idempotency = this.modules.get(Idempotency, { strict: false });
    const usage = this.modules.get(KeyUsage, { strict: false });
    for (let second = 0; second < HOUR_S; second += 2) {
      (this.clock as TestClock).set(this.clock.now() + 2_000);
      await idempotency.deleteExpiredIfDue();
      if (second % 10 === 0) await usage.save();
      if (second % 60 === 0) await usage.deleteOldIfDue();
      await this.untilClosed();
    }
  }

  private async untilClosed(): Promise<void> {
    while (this.pool.totalCount > 0) await once(this.pool, 'remove');
  }
}

@Module({ controllers: [ConnectionsController], providers: [IdleHours] })
class IdleFeature {}
export default [IdleFeature];
