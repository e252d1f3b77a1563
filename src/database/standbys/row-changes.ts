import type { AfterQueryEvent, EntitySubscriberInterface, QueryRunner } from 'typeorm';

const CHANGING = new Set(['UPDATE', 'DELETE', 'MERGE']);

/**
 * Notices committed changes of rows by TypeORM's statements. It does not notice an INSERT with ON
 * CONFLICT DO UPDATE, nor a change inside a WITH query.
 */
export class RowChanges implements EntitySubscriberInterface {
  private readonly uncommitted = new WeakSet<QueryRunner>();

  /** @param onCommit is called after each commit of a changed or removed row */
  constructor(private readonly onCommit: () => void) {}

  afterQuery({ queryRunner, rawResults }: AfterQueryEvent): void {
    const { command, rowCount } = (rawResults ?? {}) as { command?: string; rowCount?: number };
    if (command === 'COMMIT') this.commit(queryRunner);
    else if (CHANGING.has(command ?? '') && rowCount !== 0) {
      this.uncommitted.add(queryRunner);
      if (!queryRunner.isTransactionActive) this.commit(queryRunner);
    }
  }

  private commit(queryRunner: QueryRunner): void {
    if (this.uncommitted.delete(queryRunner)) this.onCommit();
  }
}
