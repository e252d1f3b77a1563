import { parse, parseNumberAndBigInt, stringify } from 'lossless-json';
import { queryRows, type StatementRunner } from '../../database/sql.js';
import type { OperatorAction } from './operator-action.entity.js';
import { currentOperator } from './operator.js';

const RECORD = 'INSERT INTO operator_actions (actor, action, details) VALUES ($1, $2, $3::jsonb)';

const LIST = `
  SELECT id, performed_at AS "performedAt", actor, action, details ->> 'owner' AS owner,
         details::text AS details
    FROM operator_actions
   WHERE ($1::text IS NULL OR details ->> 'owner' = $1)
     AND ($2::bigint IS NULL OR performed_at > now() - $2 * interval '1 millisecond')
   ORDER BY id DESC
   LIMIT $3`;

export interface OperatorActionRecord extends OperatorAction {
  /** The name of the changed owner, or of the owner of the changed API key. */
  readonly owner: string | null;
}

export interface ActionFilter {
  owner?: string | undefined;
  newerThanMs?: number | undefined;
  limit?: number | undefined;
}

/** The audit trail: who changed what, and when. */
export class OperatorActionsRepository {
  constructor(private readonly database: StatementRunner) {}

  /** Records a change by the current operator. @param action the command, such as `db migrate` */
  async record(action: string, details: object): Promise<void> {
    await queryRows(this.database, RECORD, [currentOperator(), action, stringify(details)]);
  }

  /** Returns the newest changes first: all, or those of an owner, of a time and up to a limit. */
  async list({ owner, newerThanMs, limit }: ActionFilter = {}): Promise<OperatorActionRecord[]> {
    type Row = OperatorActionRecord & { details: string };
    const rows = await queryRows<Row>(this.database, LIST, [
      owner ?? null,
      newerThanMs ?? null,
      limit ?? null,
    ]);
    // Identifiers can be larger than 2^53.
    const exact = (text: string) => parse(text, null, parseNumberAndBigInt);
    return rows.map((row) => ({
      ...row,
      details: exact(row.details) as OperatorAction['details'],
    }));
  }
}

/** Records the change of an owner or an API key. */
export async function recordChange(
  transaction: StatementRunner,
  action: string,
  { ownerId, owner, id: keyId }: { ownerId: bigint; owner: string; id?: bigint },
  details: object = {},
): Promise<void> {
  const repository = new OperatorActionsRepository(transaction);
  await repository.record(action, { ownerId, owner, keyId, ...details });
}
