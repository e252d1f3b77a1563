import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The categories of animals. */
export class CreateCategories1795392000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE categories (
        id          bigint      GENERATED ALWAYS AS IDENTITY CONSTRAINT categories_pkey PRIMARY KEY,
        name        text        NOT NULL
          CONSTRAINT categories_name_check CHECK (char_length(name) BETWEEN 1 AND 100),
        description text
          CONSTRAINT categories_description_check CHECK (char_length(description) BETWEEN 1 AND 1000),
        created_at  timestamptz NOT NULL DEFAULT now()
      )`);
    // Serves the list too: its pages are ranges of this index.
    await runner.query('CREATE UNIQUE INDEX categories_name_key ON categories (lower(name))');
  }

  down(): Promise<never> {
    return Promise.reject(new Error('It would delete what has been stored since.'));
  }
}
