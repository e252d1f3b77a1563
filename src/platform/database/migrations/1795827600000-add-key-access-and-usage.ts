import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Read-only API keys, their notes and their usage. The previous release ignores all of this. */
export class AddKeyAccessAndUsage1795827600000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE api_keys
        ADD COLUMN access text NOT NULL DEFAULT 'read-write'
          CONSTRAINT api_keys_access_check CHECK (access IN ('read', 'read-write')),
        ADD COLUMN note text
          CONSTRAINT api_keys_note_check CHECK (char_length(note) BETWEEN 1 AND 200)`);
    // No foreign key on key_id: keys are never deleted, and the check would lock the row of a busy key.
    await runner.query(`
      CREATE TABLE api_key_usage (
        day        date   NOT NULL,
        key_id     bigint NOT NULL,
        counter    uuid   NOT NULL,
        requests   bigint NOT NULL,
        rejections bigint NOT NULL,
        CONSTRAINT api_key_usage_pkey PRIMARY KEY (day, key_id, counter)
      )`);
  }

  down(): Promise<never> {
    return Promise.reject(new Error('Migrations only go forward.'));
  }
}
