import type { OnApplicationShutdown, OnModuleInit } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import type { Settings } from '../../config/settings.js';
import type { PipelinedStatements } from '../pipelining/pipelined-statements.js';
import type { Parameter, RowMapper } from '../pipelining/statement-batch.js';
import { BoundedPool } from '../pools/bounded-pool.js';
import { APPLICATION_NAMES, connectionConfig } from '../pools/client-config.js';
import type { LookupPool } from '../pools/lookup-pool.js';
import { type PrimaryPosition, PrimaryPositions } from './primary-positions.js';
import { RowChanges } from './row-changes.js';
import { Standby, type StandbyQuery } from './standby.js';

const PROBE_INTERVAL_MS = 1_000;
/** A read that waits this long for a standby goes to the primary, and still has time left there. */
const MAX_WAIT_MS = 1_000;
/** In statement time limits: twice the longest transaction that adds an animal (decision 8). */
const HORIZON_STATEMENTS = 30;

/** Reads from the streaming standbys, round-robin, and from the primary (docs/decisions/0008). */
export class Standbys implements OnModuleInit, OnApplicationShutdown {
  private timer: NodeJS.Timeout | undefined;
  private lastIndex = 0;
  /** Reads by the server that served them, if there are standbys. */
  readonly statistics = { standby: 0, primary: 0 };

  constructor(
    private readonly standbys: readonly Standby[],
    private readonly primary: PipelinedStatements,
    private readonly positions: PrimaryPositions,
  ) {}

  /** Whether each standby is in rotation, in the order of DATABASE_REPLICA_URLS. */
  get inRotation(): boolean[] {
    return this.standbys.map(({ replay }) => Boolean(replay));
  }

  onModuleInit(): void {
    if (this.standbys.length === 0) return;
    void this.probe();
    this.timer = setInterval(() => void this.probe(), PROBE_INTERVAL_MS).unref();
  }

  /** Resolves when the queries in progress have ended. Their time limits bound the wait. */
  async onApplicationShutdown(): Promise<void> {
    clearInterval(this.timer);
    await Promise.all(this.standbys.map((standby) => standby.close()));
  }

  /**
   * Returns the row that a unique column identifies, or null if it does not exist. The row may be
   * up to five seconds old, or older while the primary is unreachable. It contains every change that
   * this replica has committed, except those that RowChanges does not notice.
   *
   * @param sql `SELECT … FROM …`
   */
  async findWithBoundedStaleness<Row>(
    sql: string,
    values: readonly Parameter[],
    toRow: RowMapper<Row>,
  ): Promise<Row | null> {
    const [row] = await this.read({ sql, values, toRow, minRows: 1 });
    return row ?? null;
  }

  /**
   * Returns a page of rows in ascending order of id. The rows are as current as those of
   * `findWithBoundedStaleness`. No row is missing that was committed before the read.
   *
   * @param sql `SELECT … FROM` a table with the column `created_at`, with ORDER BY and LIMIT
   * @param limit the value of that LIMIT
   */
  pageWithBoundedStaleness<Row>(
    sql: string,
    values: readonly Parameter[],
    limit: number,
    toRow: RowMapper<Row>,
  ): Promise<Row[]> {
    return this.read({ sql, values, toRow, minRows: limit, settled: true });
  }

  private async read<Row>(query: StandbyQuery<Row>): Promise<Row[]> {
    const onPrimary = (): Promise<Row[]> => this.primary.read(query.sql, query.values, query.toRow);
    if (this.standbys.length === 0) return onPrimary();
    const next = this.next();
    const rows = next ? await next.standby.read(query, next.position) : null;
    this.statistics[rows === null ? 'primary' : 'standby']++;
    return rows ?? onPrimary();
  }

  /** Returns the next standby that is current enough, if there is one. */
  private next(): { standby: Standby; position: PrimaryPosition } | undefined {
    const { length } = this.standbys;
    for (let tried = 0; tried < length; tried++) {
      this.lastIndex = (this.lastIndex + 1) % length;
      const standby = this.standbys[this.lastIndex];
      const position = standby?.replay && this.positions.reachedBy(standby.replay);
      if (position) return { standby, position };
    }
    return undefined;
  }

  /** Asks the primary first, so that a standby without lag has reached its position. */
  private async probe(): Promise<void> {
    await this.positions.ask();
    for (const standby of this.standbys) void standby.probe();
  }
}

/** Creates the standbys of DATABASE_REPLICA_URLS. Observes the commits of the data source. */
export function createStandbys(
  { database: settings }: Settings,
  primary: PipelinedStatements,
  lookups: LookupPool,
  dataSource: DataSource,
): Standbys {
  const use = {
    forRequests: true,
    applicationName: APPLICATION_NAMES.standbyReads,
    connectionTimeoutMs: Math.min(settings.poolWaitMs, MAX_WAIT_MS),
    statementTimeoutMs: Math.min(settings.statementTimeoutMs, MAX_WAIT_MS),
  };
  const standbys = settings.replicaUrls.map(
    (connectionString, index) =>
      new Standby(index, new BoundedPool(connectionConfig({ connectionString }, settings, use))),
  );
  const positions = new PrimaryPositions(lookups, HORIZON_STATEMENTS * settings.statementTimeoutMs);
  if (standbys.length > 0) {
    dataSource.subscribers.push(new RowChanges(() => positions.rowsChanged()));
  }
  return new Standbys(standbys, primary, positions);
}
