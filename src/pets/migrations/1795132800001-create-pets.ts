import type { QueryRunner } from 'typeorm';

/** In characters. The entity uses it. Never change it: a change needs a migration. */
export const PETS_NAME_LENGTH = { min: 1, max: 255 };
export const PETS_NAME_CHECK = `char_length(name) BETWEEN ${PETS_NAME_LENGTH.min} AND ${PETS_NAME_LENGTH.max}`;

/** The animals. A database of the first release has them, from a migration of another name. */
export class CreatePets1795132800001 {
  async up(runner: QueryRunner): Promise<void> {
    // No foreign key on created_by_key_id: keys are never deleted, and the check would lock the row
    // of a busy key at every insert.
    await runner.query(`
      CREATE TABLE IF NOT EXISTS pets (
        id                bigint      GENERATED ALWAYS AS IDENTITY CONSTRAINT pets_pkey PRIMARY KEY,
        name              text        NOT NULL
          CONSTRAINT pets_name_check CHECK (${PETS_NAME_CHECK}),
        category_id       bigint      NOT NULL,
        status            text        NOT NULL COLLATE "C"
          CONSTRAINT pets_status_check CHECK (status IN ('available', 'pending', 'sold')),
        created_at        timestamptz NOT NULL DEFAULT now(),
        created_by_key_id bigint
      )`);
    await runner.query('CREATE INDEX IF NOT EXISTS pets_status_id_idx ON pets (status, id)');
  }
}
