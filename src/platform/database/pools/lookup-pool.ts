import { Injectable, Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import pg from 'pg';
import { Settings } from '../../config/settings.js';
import { traceStatement } from '../../tracing/spans.js';
import { isUnavailable } from '../database-errors.js';
import { DatabaseLocation } from '../database-location.js';
import { BoundedPool, DatabaseQueueFullError } from './bounded-pool.js';
import { APPLICATION_NAMES, connectionConfig } from './client-config.js';

/** After this time, the failure of a query no longer shows that the database is unreachable. */
const UNREACHABLE_FOR_MS = 3_000;

/** Lookups are planned once, by an index (see LASTING_PLANS of the pipelined statements). */
const LASTING_PLANS = { plan_cache_mode: 'force_generic_plan', enable_seqscan: 'off' };

/** SQLSTATEs of a server that responds, only not in time: statement and lock timeouts. */
const SERVER_TIMEOUTS = new Set(['57014', '55P03']);

/**
 * Connections for lookups of API keys and readiness, which stay usable while those that serve
 * requests are busy.
 */
@Injectable()
export class LookupPool implements OnModuleInit, OnApplicationShutdown {
  private readonly logger = new Logger(LookupPool.name);
  readonly pool: BoundedPool;
  private unreachableAtMs = -Infinity;

  /** @param requests the pool that serves requests */
  constructor(
    location: DatabaseLocation,
    { database }: Settings,
    private readonly requests: BoundedPool,
  ) {
    this.pool = new BoundedPool(
      connectionConfig(location.connection, database, {
        applicationName: APPLICATION_NAMES.lookups,
        poolSize: database.lookupPoolSize,
        sessionSettings: LASTING_PLANS,
      }),
    );
    // An idle connection broke. The next lookup opens another one.
    this.pool.on('error', () => undefined);
  }

  /** Opens the connections of both pools, first those that every request needs. */
  async onModuleInit(): Promise<void> {
    for (const pool of [this.pool, this.requests]) {
      const failure = await pool.open();
      if (failure === undefined) continue;
      this.logger.warn(`Only ${pool.options.max} database connections: ${failure.message}`);
    }
  }

  async onApplicationShutdown(): Promise<void> {
    await this.pool.end();
  }

  /**
   * Returns the rows of a query. The time limits of a connection and a statement bound the wait.
   *
   * @throws DatabaseQueueFullError at once when too many lookups wait; otherwise what pg throws
   */
  async query<Row extends object>(sql: string, values: unknown[] = []): Promise<Row[]> {
    const startedAtMs = performance.now();
    try {
      return await traceStatement(sql, async () => (await this.pool.query<Row>(sql, values)).rows);
    } catch (error) {
      if (isUnreachable(error) && !this.hasRespondedSince(startedAtMs)) {
        this.unreachableAtMs = performance.now();
      }
      throw error;
    }
  }

  /** Whether the database was unreachable in the last seconds, and no query has succeeded since. */
  get isUnreachable(): boolean {
    const { unreachableAtMs } = this;
    const isRecent = performance.now() - unreachableAtMs < UNREACHABLE_FOR_MS;
    return isRecent && !this.hasRespondedSince(unreachableAtMs);
  }

  /** Whether any query has succeeded since a time of `performance.now()`, also of a request. */
  private hasRespondedSince(ms: number): boolean {
    return [this.pool, this.requests].some(({ respondedAtMs }) => respondedAtMs >= ms);
  }
}

function isUnreachable(error: unknown): boolean {
  if (error instanceof DatabaseQueueFullError) return false;
  const isTimeout = error instanceof pg.DatabaseError && SERVER_TIMEOUTS.has(error.code ?? '');
  return isUnavailable(error) && !isTimeout;
}
