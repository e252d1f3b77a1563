import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Default privileges can let the role of the service write every new table
 * (deploy/postgres/roles.sql). Only the owner of the tables changes what operators manage, and the
 * audit trail of it.
 */
const RESTRICT_OTHER_ROLES = `
  DO $$
  DECLARE
    grant_to_other record;
  BEGIN
    FOR grant_to_other IN
      SELECT DISTINCT pg_class.oid::regclass::text AS name, acl.grantee::regrole::text AS role
        FROM pg_class, aclexplode(relacl) AS acl
       WHERE pg_class.oid IN (to_regclass('owners'), to_regclass('api_keys'),
                              to_regclass('operator_actions'), to_regclass('migrations'))
         AND acl.grantee NOT IN (0, relowner)
    LOOP
      EXECUTE format('REVOKE INSERT, UPDATE, DELETE, TRUNCATE ON %s FROM %s', grant_to_other.name, grant_to_other.role);
      IF grant_to_other.name = 'api_keys' THEN
        EXECUTE format('GRANT UPDATE (last_used_at) ON api_keys TO %s', grant_to_other.role);
      END IF;
    END LOOP;
  END
  $$`;

/** Owners, their keys, and what operators did. */
export class CreateStore1795132800000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE owners (
        id               bigint      GENERATED ALWAYS AS IDENTITY CONSTRAINT owners_pkey PRIMARY KEY,
        name             text        NOT NULL CONSTRAINT owners_name_key UNIQUE,
        plan             text        NOT NULL
          CONSTRAINT owners_plan_check CHECK (plan IN ('free', 'pro', 'business', 'enterprise')),
        limit_per_minute integer,
        limit_per_day    integer,
        created_at       timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT owners_limits_check CHECK (
          CASE WHEN plan = 'enterprise'
               THEN limit_per_minute IS NOT NULL AND limit_per_minute > 0
                AND limit_per_day IS NOT NULL AND limit_per_day > 0
               ELSE limit_per_minute IS NULL AND limit_per_day IS NULL END)
      )`);
    await runner.query(`
      CREATE TABLE api_keys (
        id           bigint      GENERATED ALWAYS AS IDENTITY CONSTRAINT api_keys_pkey PRIMARY KEY,
        owner_id     bigint      NOT NULL CONSTRAINT api_keys_owner_id_fkey REFERENCES owners (id),
        first_key_id bigint,
        hash         bytea       NOT NULL CONSTRAINT api_keys_hash_key UNIQUE
          CONSTRAINT api_keys_hash_check CHECK (octet_length(hash) = 32),
        hint         text        NOT NULL,
        unban_count  integer     NOT NULL DEFAULT 0,
        created_at   timestamptz NOT NULL DEFAULT now(),
        last_used_at timestamptz,
        expires_at   timestamptz,
        revoked_at   timestamptz
      )`);
    await runner.query('CREATE INDEX api_keys_owner_id_idx ON api_keys (owner_id)');
    await runner.query('CREATE INDEX api_keys_first_key_id_idx ON api_keys (first_key_id)');
    await runner.query(`
      CREATE TABLE operator_actions (
        id           bigint      GENERATED ALWAYS AS IDENTITY CONSTRAINT operator_actions_pkey PRIMARY KEY,
        performed_at timestamptz NOT NULL DEFAULT now(),
        actor        text        NOT NULL,
        action       text        NOT NULL,
        details      jsonb       NOT NULL
      )`);
    await runner.query(RESTRICT_OTHER_ROLES);
  }

  down(): Promise<never> {
    return Promise.reject(new Error('It would delete what has been stored since.'));
  }
}
