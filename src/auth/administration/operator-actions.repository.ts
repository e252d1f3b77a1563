import { stringify } from 'lossless-json';
import type { StatementRunner } from '../../database/statement-runner.js';

const RECORD = 'INSERT INTO operator_actions (actor, action, details) VALUES ($1, $2, $3::jsonb)';

/** The audit trail: who changed what, and when. */
export class OperatorActionsRepository {
  /** @param actor who makes the changes, as `user@host` */
  constructor(
    private readonly database: Pick<StatementRunner, 'query'>,
    private readonly actor: string,
  ) {}

  /**
   * @param action the command, such as `db migrate`
   * @param details stored as JSON, without the properties that are undefined
   */
  async record(action: string, details: Readonly<Record<string, unknown>>): Promise<void> {
    await this.database.query(RECORD, [this.actor, action, stringify(details)]);
  }
}
