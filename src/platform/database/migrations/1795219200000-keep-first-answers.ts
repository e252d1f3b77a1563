import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Stores the first response to each request with an idempotency key. */
export class KeepFirstAnswers1795219200000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // No foreign key on owner_id: owners are never deleted, and the check would lock the row of a
    // busy owner at every insert.
    await runner.query(`
      CREATE TABLE idempotency_keys (
        owner_id    bigint      NOT NULL,
        key         text        NOT NULL COLLATE "C",
        fingerprint bytea       NOT NULL
          CONSTRAINT idempotency_keys_fingerprint_check CHECK (octet_length(fingerprint) = 32),
        answer      text        NOT NULL,
        expires_at  timestamptz NOT NULL,
        CONSTRAINT idempotency_keys_pkey PRIMARY KEY (owner_id, key)
      )`);
    await runner.query(
      'CREATE INDEX idempotency_keys_expires_at_idx ON idempotency_keys (expires_at)',
    );
  }

  down(): Promise<never> {
    return Promise.reject(new Error('It would delete what has been stored since.'));
  }
}
