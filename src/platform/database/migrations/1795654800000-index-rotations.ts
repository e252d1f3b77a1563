import type { QueryRunner } from 'typeorm';

/** The commands on an API key find its successor without reading the whole audit trail. */
export class IndexRotations1795654800000 {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE INDEX operator_actions_rotated_key_idx
          ON operator_actions (((details ->> 'keyId')::bigint)) WHERE action = 'keys rotate'`);
  }
}
