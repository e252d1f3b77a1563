import { parse, parseNumberAndBigInt, stringify } from 'lossless-json';
import { queryRows, type StatementRunner } from '../../database/sql.js';
import { currentOperator } from './operator.js';

const RECORD = 'INSERT INTO operator_actions (actor, action, details) VALUES ($1, $2, $3::jsonb)';

const LIST = `
  SELECT id, performed_at AS "performedAt", actor, action, details ->> 'owner' AS owner,
         details::text AS details
    FROM operator_actions
   WHERE $1::text IS NULL OR details ->> 'owner' = $1
   ORDER BY id DESC`;

/** A change that an operator made. */
export interface OperatorActionRecord {
  readonly id: bigint;
  readonly performedAt: Date;
  readonly actor: string;
  /** The command, such as `keys revoke`. */
  readonly action: string;
  /** The name of the changed owner, or of the owner of the changed API key. */
  readonly owner: string | null;
  readonly details: object;
}

/** The audit trail: who changed what, and when. */
export class OperatorActionsRepository {
  constructor(private readonly database: Pick<StatementRunner, 'query'>) {}

  /**
   * Records a change by the current operator.
   *
   * @param action the command, such as `db migrate`
   * @param details stored as JSON, without the properties that are undefined
   */
  async record(action: string, details: object): Promise<void> {
    await queryRows(this.database, RECORD, [currentOperator(), action, stringify(details)]);
  }

  /** Returns all changes, or those of an owner, newest first. */
  async list(owner?: string): Promise<OperatorActionRecord[]> {
    type Row = OperatorActionRecord & { details: string };
    const rows = await queryRows<Row>(this.database, LIST, [owner ?? null]);
    return rows.map((row) => {
      // Identifiers can be larger than 2^53.
      const details = parse(row.details, null, parseNumberAndBigInt) as object;
      return { ...row, details };
    });
  }
}
