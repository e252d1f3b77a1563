import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The lifetime that an API key was given last. The previous release ignores it. */
export class AddKeyLifetime1795914000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE api_keys ADD COLUMN lifetime_ms bigint');
  }

  down(): Promise<never> {
    return Promise.reject(new Error('Migrations only go forward.'));
  }
}
