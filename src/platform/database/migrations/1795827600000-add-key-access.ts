import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Read-only API keys, and notes. The previous release issues keys without both, and ignores them. */
export class AddKeyAccess1795827600000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE api_keys
        ADD COLUMN access text NOT NULL DEFAULT 'read-write'
          CONSTRAINT api_keys_access_check CHECK (access IN ('read', 'read-write')),
        ADD COLUMN note text
          CONSTRAINT api_keys_note_check CHECK (char_length(note) BETWEEN 1 AND 200)`);
  }

  down(): Promise<never> {
    return Promise.reject(new Error('Migrations only go forward.'));
  }
}
