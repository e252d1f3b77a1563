import type { MigrationInterface, QueryRunner } from 'typeorm';

/** When an owner was removed. The previous release shows it as an owner without valid API keys. */
export class AddOwnerRemoval1796086800000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE owners ADD COLUMN removed_at timestamptz');
  }

  down(): Promise<never> {
    return Promise.reject(new Error('Migrations only go forward.'));
  }
}
