import { Injectable } from '@nestjs/common';
import { PipelinedStatements } from '../pipelining/pipelined-statements.js';
import type { Parameter, RowMapper } from '../pipelining/statement-batch.js';
import { Standbys } from './standbys.js';

/**
 * Reads tables whose rows are added and never changed or removed. It returns the rows of a standby
 * only if they are certainly complete, otherwise those of the primary (docs/decisions/0008).
 */
@Injectable()
export class AppendOnlyReader {
  constructor(
    private readonly standbys: Standbys,
    private readonly primary: PipelinedStatements,
  ) {}

  /** Returns the row that a unique column identifies, or null. A row on a standby is final. */
  async find<Row>(
    sql: string,
    values: readonly Parameter[],
    toRow: RowMapper<Row>,
  ): Promise<Row | null> {
    const [row] = await this.standbys.read(
      async (standby) => {
        const rows = await standby.query(sql, values, toRow);
        return rows.length > 0 ? rows : null;
      },
      () => this.primary.read(sql, values, toRow),
    );
    return row ?? null;
  }

  /**
   * Returns a page of rows in ascending order of id. It uses the page of a standby only if that is
   * full and the standby has every row with a smaller id.
   *
   * @param sql `SELECT … FROM` a table with the column `created_at`, with ORDER BY and LIMIT
   * @param limit the value of that LIMIT
   */
  page<Row>(
    sql: string,
    values: readonly Parameter[],
    limit: number,
    toRow: RowMapper<Row>,
  ): Promise<Row[]> {
    return this.standbys.read(
      async (standby) => {
        const { settledBefore, serverStartedAt } = standby.replay;
        const rows = await standby.query(
          withIsSettled(sql, values.length),
          [...values, settledBefore, serverStartedAt],
          (columns: unknown[]) => ({ row: toRow(columns as never), isSettled: columns.at(-1) }),
        );
        const isConclusive = rows.length === limit && rows.at(-1)?.isSettled === true;
        return isConclusive ? rows.map(({ row }) => row) : null;
      },
      () => this.primary.read(sql, values, toRow),
    );
  }
}

/**
 * Adds a last column: whether the standby has every row with a smaller id. It is null if the
 * standby does not know how far it has followed the primary.
 */
function withIsSettled(sql: string, parameters: number): string {
  const isSettled = `created_at < $${parameters + 1}::timestamptz
     AND pg_postmaster_start_time() = $${parameters + 2}::timestamptz AS "isSettled"`;
  return sql.replace(' FROM ', `, ${isSettled} FROM `);
}
