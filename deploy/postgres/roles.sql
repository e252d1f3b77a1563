-- Creates two roles, so that the statements of requests can change neither the schema nor the audit trail:
--
--   pets_owner    owns the tables. Migrations and operators' commands use it.
--   pets_service  owns nothing. The replicas use it. It can write the tables of features, events and idempotency keys. It can
--                 only read owners, API keys (and set last_used_at), their secret, the audit trail and the list of migrations.
--
-- Run it as a superuser in the database of the service, which must contain nothing else:
--
--   psql --set=ON_ERROR_STOP=1 --dbname=pets --file=roles.sql
--
-- The script sets no passwords (use \password) and can be run again at any time, before or after migrations.

BEGIN;
SET LOCAL client_min_messages = warning;

DO $$
BEGIN
  IF to_regrole('pets_owner') IS NULL THEN CREATE ROLE pets_owner; END IF;
  IF to_regrole('pets_service') IS NULL THEN CREATE ROLE pets_service; END IF;
  EXECUTE format('REVOKE ALL ON DATABASE %I FROM PUBLIC', current_database());
  EXECUTE format('GRANT CONNECT ON DATABASE %I TO pets_owner, pets_service', current_database());
  EXECUTE format('GRANT TEMPORARY ON DATABASE %I TO pets_owner', current_database());
END
$$;
ALTER ROLE pets_owner LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS;
ALTER ROLE pets_service LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS;

REVOKE ALL ON SCHEMA public FROM PUBLIC, pets_service;
GRANT USAGE, CREATE ON SCHEMA public TO pets_owner;
GRANT USAGE ON SCHEMA public TO pets_service;

-- Change the owner of tables that another role created before. Their indexes and sequences follow. Replicas that still use this
-- role keep working, because it inherits the rights of the new owner until you run: REVOKE pets_owner FROM …
-- The script gives its locks back when it does not get the next one soon, so that no request waits long or gets into a deadlock.
SET LOCAL lock_timeout = '100ms';
DO $$
DECLARE
  other record;
BEGIN
  LOOP
    BEGIN
      FOR other IN
        SELECT oid::regclass AS name, relowner::regrole AS owner,
               (SELECT rolsuper FROM pg_roles WHERE pg_roles.oid = relowner) AS is_superuser
          FROM pg_class
         WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')
           AND relowner <> 'pets_owner'::regrole
         ORDER BY oid
      LOOP
        IF NOT other.is_superuser THEN EXECUTE format('GRANT pets_owner TO %s', other.owner); END IF;
        EXECUTE format('ALTER TABLE %s OWNER TO pets_owner', other.name);
      END LOOP;
      EXIT;
    EXCEPTION WHEN lock_not_available THEN
      PERFORM pg_sleep(0.1);
    END;
  END LOOP;
END
$$;

-- Existing tables, and tables that later migrations create.
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO pets_service;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO pets_service;
ALTER DEFAULT PRIVILEGES FOR ROLE pets_owner IN SCHEMA public
  GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO pets_service;
ALTER DEFAULT PRIVILEGES FOR ROLE pets_owner IN SCHEMA public
  GRANT USAGE ON SEQUENCES TO pets_service;

-- The exceptions. The first migration also sets them, for a database whose tables are created after this script.
DO $$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['owners', 'api_keys', 'key_secret', 'operator_actions', 'migrations'] LOOP
    IF to_regclass(name) IS NOT NULL THEN
      EXECUTE format('REVOKE INSERT, UPDATE, DELETE ON %s FROM pets_service', name);
    END IF;
  END LOOP;
  IF to_regclass('api_keys') IS NOT NULL THEN
    GRANT UPDATE (last_used_at) ON api_keys TO pets_service;
  END IF;
END
$$;

COMMIT;
