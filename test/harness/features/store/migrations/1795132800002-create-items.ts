import type { MigrationInterface, QueryRunner } from 'typeorm';

export class CreateItems1795132800002 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE test_items (
        id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        name        text   NOT NULL CONSTRAINT test_items_name_check CHECK (char_length(name) BETWEEN 1 AND 255),
        category_id bigint NOT NULL,
        status      text   NOT NULL COLLATE "C",
        created_by_key_id bigint
      )`);
    await runner.query('CREATE INDEX test_items_status_id_idx ON test_items (status, id)');
  }

  down(): Promise<never> {
    return Promise.reject(new Error('It would delete what has been stored since.'));
  }
}
