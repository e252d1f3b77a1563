import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import pg from 'pg';
import { Settings } from '../../config/settings.js';
import { traceStatement } from '../../tracing/spans.js';
import { isUnavailable } from '../database-errors.js';
import { DatabaseLocation } from '../database-location.js';
import { BoundedPool, ConnectionFailedError, DatabaseQueueFullError } from './bounded-pool.js';
import { APPLICATION_NAMES, connectionConfig } from './client-config.js';

/** After this time, the failure of a query no longer shows that the database is unreachable. */
const UNREACHABLE_FOR_MS = 3_000;

/** Lookups are planned once, by an index (see LASTING_PLANS of the pipelined statements). */
const LASTING_PLANS = '-c plan_cache_mode=force_generic_plan -c enable_seqscan=off';

/** SQLSTATEs of a server that responds, only not in time: statement and lock timeouts. */
const SERVER_TIMEOUTS = new Set(['57014', '55P03']);
const TOO_MANY_CONNECTIONS = '53300';

/**
 * Connections for lookups of API keys and readiness, which stay usable while those that serve
 * requests are busy. They are opened on first use and then kept.
 */
@Injectable()
export class LookupPool implements OnApplicationShutdown {
  private readonly pool: BoundedPool;
  private unreachableAtMs = -Infinity;

  /** @param requests the pool that serves requests */
  constructor(
    location: DatabaseLocation,
    { database }: Settings,
    private readonly requests: BoundedPool,
  ) {
    this.pool = new BoundedPool({
      ...connectionConfig(location.requests, database, {
        forRequests: true,
        applicationName: APPLICATION_NAMES.lookups,
        poolSize: database.lookupPoolSize,
      }),
      min: database.lookupPoolSize,
      // A connection pooler rejects start-up parameters that it does not know.
      ...(!database.usesConnectionPooler && { options: LASTING_PLANS }),
    });
    // An idle connection broke. The next lookup opens another one.
    this.pool.on('error', () => undefined);
  }

  async onApplicationShutdown(): Promise<void> {
    await this.pool.end();
  }

  /** The number of lookups that wait for a connection. */
  get pending(): number {
    return this.pool.waitingCount;
  }

  /** How many lookups failed because the queue was full. */
  get rejected(): number {
    return this.pool.rejected;
  }

  /**
   * Returns the rows of a query. The time limits of a connection and a statement bound the wait.
   *
   * @throws DatabaseQueueFullError at once when too many lookups wait; otherwise what pg throws
   */
  async query<Row extends object>(sql: string, values: unknown[] = []): Promise<Row[]> {
    const startedAtMs = performance.now();
    try {
      return await traceStatement(sql, () => this.run<Row>(sql, values));
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

  private async run<Row extends object>(sql: string, values: unknown[]): Promise<Row[]> {
    try {
      return (await this.pool.query<Row>(sql, values)).rows;
    } catch (error) {
      if (codeOf(error) !== TOO_MANY_CONNECTIONS) throw error;
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
