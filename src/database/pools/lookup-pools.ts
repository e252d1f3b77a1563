import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import pg from 'pg';
import { Settings } from '../../config/settings.js';
import { isUnavailable } from '../database-errors.js';
import { DatabaseLocation } from '../database-location.js';
import { BoundedPool, DatabaseQueueFullError } from './bounded-pool.js';
import { APPLICATION_NAMES, connectionConfig } from './client-config.js';
import { ConnectionFailedError } from './connection-failed-error.js';

/** After this time, the failure of a query no longer shows that the database is unreachable. */
const UNREACHABLE_FOR_MS = 3_000;

/** Lookups are planned once, by an index (see LASTING_PLANS of the pipelined statements). */
const LASTING_PLANS = '-c plan_cache_mode=force_generic_plan -c enable_seqscan=off';

/** SQLSTATEs of a server that responds, only not in time: statement and lock timeouts. */
const SERVER_TIMEOUTS = new Set(['57014', '55P03']);
const TOO_MANY_CONNECTIONS = '53300';

/** Whether a lookup is for an API key in the cache (or readiness), or one that may be made up. */
export type LookupKind = 'cached' | 'uncached';

/**
 * Connections for key lookups and readiness, which stay usable while those that serve requests are
 * busy. API keys that are not in the cache have separate connections and a separate queue, so that
 * unauthenticated callers delay nobody else. Connections are opened on first use and then kept.
 */
@Injectable()
export class LookupPools implements OnApplicationShutdown {
  readonly cached: BoundedPool;
  readonly uncached: BoundedPool;
  private unreachableAtMs = -Infinity;

  /** @param requests the pool that serves requests */
  constructor(
    location: DatabaseLocation,
    { database, bounds }: Settings,
    private readonly requests: BoundedPool,
  ) {
    const config = {
      ...connectionConfig(location.requests, database, {
        forRequests: true,
        applicationName: APPLICATION_NAMES.lookups,
        poolSize: database.lookupPoolSize,
      }),
      min: database.lookupPoolSize,
      // A connection pooler rejects start-up parameters that it does not know.
      ...(!database.usesConnectionPooler && { options: LASTING_PLANS }),
    };
    this.cached = new BoundedPool(config);
    this.uncached = new BoundedPool({ ...config, maxWaiting: bounds.maxQueuedKeyLookups });
    // An idle connection broke. The next lookup opens another one.
    for (const pool of [this.cached, this.uncached]) pool.on('error', () => undefined);
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all([this.cached.end(), this.uncached.end()]);
  }

  /**
   * Returns the rows of a query. The time limits of a connection and a statement bound the wait.
   *
   * @throws DatabaseQueueFullError at once when too many lookups wait; otherwise what pg throws
   */
  async query<Row extends object>(
    kind: LookupKind,
    sql: string,
    values: unknown[] = [],
  ): Promise<Row[]> {
    const startedAtMs = performance.now();
    try {
      return await this.run<Row>(kind, sql, values);
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
  hasRespondedSince(ms: number): boolean {
    return [this.cached, this.uncached, this.requests].some((pool) => pool.respondedAtMs >= ms);
  }

  private async run<Row extends object>(
    kind: LookupKind,
    sql: string,
    values: unknown[],
  ): Promise<Row[]> {
    try {
      return (await this[kind].query<Row>(sql, values)).rows;
    } catch (error) {
      if (kind === 'uncached' || codeOf(error) !== TOO_MANY_CONNECTIONS) throw error;
      // The server has no connection left for us, but those that serve requests are open.
      return (await this.requests.query<Row>(sql, values)).rows;
    }
  }
}

function isUnreachable(error: unknown): boolean {
  if (error instanceof DatabaseQueueFullError) return false;
  return isUnavailable(error) && !SERVER_TIMEOUTS.has(codeOf(error) ?? '');
}

function codeOf(error: unknown): string | undefined {
  const cause = error instanceof ConnectionFailedError ? error.cause : error;
  return cause instanceof pg.DatabaseError ? cause.code : undefined;
}
