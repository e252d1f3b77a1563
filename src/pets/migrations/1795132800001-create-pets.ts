import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The animals. A database of the first release has them, from a migration of another name. */
export class CreatePets1795132800001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // No foreign key on created_by_key_id: keys are never deleted, and the check would lock the row
    // of a busy key at every insert.
    await runner.query(`
      CREATE TABLE IF NOT EXISTS pets (
        id                bigint      GENERATED ALWAYS AS IDENTITY CONSTRAINT pets_pkey PRIMARY KEY,
        name              text        NOT NULL
          CONSTRAINT pets_name_check CHECK (char_length(name) BETWEEN 1 AND 255),
        category_id       bigint      NOT NULL,
        status            text        NOT NULL COLLATE "C"
          CONSTRAINT pets_status_check CHECK (status IN ('available', 'pending', 'sold')),
        created_at        timestamptz NOT NULL DEFAULT now(),
        created_by_key_id bigint
      )`);
    await runner.query('CREATE INDEX IF NOT EXISTS pets_status_id_idx ON pets (status, id)');
  }

  down(): Promise<never> {
    return Promise.reject(new Error('It would delete what has been stored since.'));
  }
}
