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
       WHERE pg_class.oid = to_regclass('pets') AND acl.privilege_type = 'INSERT'
         AND acl.grantee NOT IN (0, relowner)
    LOOP
      EXECUTE format('GRANT SELECT ON key_secret TO %s', other);
    END LOOP;
  END
  $$`;

/** API keys prove themselves. Those that the previous release issues have no proof. */
export class AddKeySecret1795395600000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE api_keys ADD has_proof boolean NOT NULL DEFAULT false');
    await runner.query(
      'CREATE TABLE key_secret (secret bytea CONSTRAINT key_secret_pkey PRIMARY KEY)',
    );
    // PostgreSQL creates the secret: a parameter could appear in its log or in an error. A random
    // UUID has 122 random bits.
    await runner.query(`
      INSERT INTO key_secret
      SELECT sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()))`);
    await runner.query(GRANT_TO_SERVICE);
  }

  /** After this, the previous release accepts only the API keys without a proof. */
  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE key_secret');
    await runner.query('ALTER TABLE api_keys DROP has_proof');
  }
}
