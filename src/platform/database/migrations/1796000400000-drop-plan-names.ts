import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The store lists its plans in its code. The previous release works: it stores only plans that the checks
 * accepted before.
 */
export class DropPlanNames1796000400000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE owners
        DROP CONSTRAINT IF EXISTS owners_plan_check,
        DROP CONSTRAINT IF EXISTS owners_limits_check,
        ADD CONSTRAINT owners_limits_check CHECK (
          (limit_per_minute IS NULL) = (limit_per_day IS NULL)
          AND limit_per_minute > 0 AND limit_per_day > 0)`);
  }

  down(): Promise<never> {
    return Promise.reject(new Error('Migrations only go forward.'));
  }
}
