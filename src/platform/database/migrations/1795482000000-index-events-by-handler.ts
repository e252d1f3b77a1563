import type { QueryRunner } from 'typeorm';

/** A replica reads the due events of one handler, whatever the number of others. */
export class IndexEventsByHandler1795482000000 {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      'CREATE INDEX outbox_events_handler_next_attempt_at_idx ON outbox_events (handler, next_attempt_at)',
    );
    await runner.query('DROP INDEX outbox_events_next_attempt_at_idx');
  }
}
