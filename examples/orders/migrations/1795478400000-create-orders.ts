import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The sales of animals. */
export class CreateOrders1795478400000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // No foreign key on owner_id: owners are never deleted, and the check would lock the row of a
    // busy owner at every insert.
    await runner.query(`
      CREATE TABLE orders (
        id           bigint      GENERATED ALWAYS AS IDENTITY CONSTRAINT orders_pkey PRIMARY KEY,
        owner_id     bigint      NOT NULL,
        pet_id       bigint      NOT NULL CONSTRAINT orders_pet_id_key UNIQUE
          CONSTRAINT orders_pet_id_fkey REFERENCES pets (id),
        confirmed_at timestamptz,
        created_at   timestamptz NOT NULL DEFAULT now()
      )`);
  }

  down(): Promise<never> {
    return Promise.reject(new Error('It would delete what has been stored since.'));
  }
}
