import type { QueryRunner } from 'typeorm';

/** Events that are committed with a change and delivered to their handlers afterwards. */
export class AddOutboxEvents1795305600000 {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE outbox_events (
        id              bigint      GENERATED ALWAYS AS IDENTITY CONSTRAINT outbox_events_pkey PRIMARY KEY,
        event           text        NOT NULL,
        handler         text        NOT NULL,
        payload         text        NOT NULL,
        attempts        integer     NOT NULL DEFAULT 0,
        next_attempt_at timestamptz          DEFAULT now(),
        last_error      text,
        created_at      timestamptz NOT NULL DEFAULT now()
      )`);
    await runner.query(
      'CREATE INDEX outbox_events_next_attempt_at_idx ON outbox_events (next_attempt_at)',
    );
  }
}
