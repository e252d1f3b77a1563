import type { QueryRunner } from 'typeorm';

/** The previous release publishes events without it. */
export class LinkEventsToRequests1795568400000 {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE outbox_events ADD trace_parent text');
  }
}
