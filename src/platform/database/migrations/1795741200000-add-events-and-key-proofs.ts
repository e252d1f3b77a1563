import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Default privileges can let other roles write every new table. The service's role must read it. */
const GRANT_TO_SERVICE = `
  DO $$
  DECLARE
    other text;
  BEGIN
    FOR other IN
      SELECT DISTINCT acl.grantee::regrole::text FROM pg_class, aclexplode(relacl) AS acl
       WHERE pg_class.oid = to_regclass('key_secret') AND acl.grantee NOT IN (0, relowner)
    LOOP
      EXECUTE format('REVOKE ALL ON key_secret FROM %s', other);
    END LOOP;
    FOR other IN
      SELECT DISTINCT acl.grantee::regrole::text FROM pg_class, aclexplode(relacl) AS acl
       WHERE pg_class.oid = to_regclass('idempotency_keys') AND acl.privilege_type = 'INSERT'
         AND acl.grantee NOT IN (0, relowner)
    LOOP
      EXECUTE format('GRANT SELECT ON key_secret TO %s', other);
    END LOOP;
  END
  $$`;

/**
 * The outbox of events, API keys that prove themselves, and the successors of rotated API keys. A
 * database of a build between two releases has all of this except the successors.
 */
export class AddEventsAndKeyProofs1795741200000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE IF NOT EXISTS outbox_events (
        id              bigint      GENERATED ALWAYS AS IDENTITY CONSTRAINT outbox_events_pkey PRIMARY KEY,
        event           text        NOT NULL,
        handler         text        NOT NULL,
        payload         text        NOT NULL,
        attempts        integer     NOT NULL DEFAULT 0,
        next_attempt_at timestamptz          DEFAULT now(),
        last_error      text,
        created_at      timestamptz NOT NULL DEFAULT now()
      )`);
    await runner.query(`
      CREATE INDEX IF NOT EXISTS outbox_events_handler_next_attempt_at_idx
          ON outbox_events (handler, next_attempt_at)`);
    // The first release issues API keys without a proof and a successor.
    await runner.query(`
      ALTER TABLE api_keys
        ADD COLUMN IF NOT EXISTS has_proof boolean NOT NULL DEFAULT false,
        ADD COLUMN IF NOT EXISTS successor_id bigint`);
    await runner.query(`
      UPDATE api_keys SET successor_id = (rotation.details ->> 'newKeyId')::bigint
        FROM operator_actions AS rotation
       WHERE rotation.action = 'keys rotate'
         AND (rotation.details ->> 'keyId')::bigint = api_keys.id
         AND NOT EXISTS (
           SELECT FROM operator_actions AS later
            WHERE later.action = 'keys rotate' AND later.id > rotation.id
              AND later.details -> 'keyId' = rotation.details -> 'keyId')`);
    await runner.query('DROP INDEX IF EXISTS operator_actions_rotated_key_idx');
    await runner.query(
      'CREATE TABLE IF NOT EXISTS key_secret (secret bytea CONSTRAINT key_secret_pkey PRIMARY KEY)',
    );
    // PostgreSQL creates the secret: a parameter could appear in its log or in an error. A random
    // UUID has 122 random bits.
    await runner.query(`
      INSERT INTO key_secret
      SELECT sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()))
       WHERE NOT EXISTS (SELECT FROM key_secret)`);
    await runner.query(GRANT_TO_SERVICE);
  }

  down(): Promise<never> {
    return Promise.reject(new Error('It would delete what has been stored since.'));
  }
}
