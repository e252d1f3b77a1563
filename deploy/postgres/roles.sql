-- Creates two roles, so that the statements of requests can change neither the schema nor the audit trail:
--
--   pets_owner    owns the tables. Migrations and operators' commands use it.
--   pets_service  owns nothing. The replicas use it. It can write the tables of features, events and idempotency keys. It can
--                 only read owners, API keys (and set last_used_at), their secret, the audit trail and the list of migrations.
--
-- Run it in the database of the service, which must contain nothing else, as a superuser or as a role with CREATEROLE that owns the
-- database. A role without superuser becomes a member of both roles, and must always be the same one, because from PostgreSQL 16 on
-- only the role that created them can change them:
--
--   psql --set=ON_ERROR_STOP=1 --dbname=pets --file=roles.sql
--
-- The script sets no passwords (use \password) and can be run again at any time, before or after migrations.

BEGIN;
SET LOCAL client_min_messages = warning;

DO $$
DECLARE
  change text;
  -- From PostgreSQL 16 on, a membership may lack the rights of the role (createrole_self_grant, NOINHERIT). A restore needs them.
  options text := CASE WHEN current_setting('server_version_num')::int >= 160000 THEN 'WITH INHERIT TRUE, SET TRUE' ELSE '' END;
BEGIN
  IF to_regrole('pets_owner') IS NULL THEN CREATE ROLE pets_owner; END IF;
  IF to_regrole('pets_service') IS NULL THEN CREATE ROLE pets_service; END IF;
  -- Only what differs, because even NOSUPERUSER requires a superuser.
  FOR change IN
    SELECT format('ALTER ROLE %I %s', rolname, attribute)
      FROM pg_roles,
           LATERAL (VALUES (NOT rolcanlogin, 'LOGIN'), (rolsuper, 'NOSUPERUSER'), (rolcreatedb, 'NOCREATEDB'),
                           (rolcreaterole, 'NOCREATEROLE'), (rolreplication, 'NOREPLICATION'),
                           (rolbypassrls, 'NOBYPASSRLS')) AS attributes (differs, attribute)
     WHERE rolname IN ('pets_owner', 'pets_service') AND differs
  LOOP
    EXECUTE change;
  END LOOP;
  IF NOT (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) THEN
    EXECUTE 'GRANT pets_owner, pets_service TO CURRENT_USER ' || options;
  END IF;
  EXECUTE format('REVOKE ALL ON DATABASE %I FROM PUBLIC', current_database());
  EXECUTE format('GRANT CONNECT ON DATABASE %I TO pets_owner, pets_service', current_database());
  EXECUTE format('GRANT TEMPORARY ON DATABASE %I TO pets_owner', current_database());
END
$$;

REVOKE ALL ON SCHEMA public FROM PUBLIC, pets_service;
GRANT USAGE, CREATE ON SCHEMA public TO pets_owner;
GRANT USAGE ON SCHEMA public TO pets_service;

-- Change the owner of tables, views and sequences that another role created before, except those of extensions. Indexes and the
-- sequences of columns follow their table. Replicas that still use this role keep working, because it inherits the rights of the new
-- owner until you run: REVOKE pets_owner FROM …
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
         WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'v', 'm', 'S')
           AND relowner <> 'pets_owner'::regrole
           AND NOT EXISTS (
             SELECT FROM pg_depend
              WHERE classid = 'pg_class'::regclass AND objid = pg_class.oid
                AND (deptype = 'e' OR relkind = 'S' AND deptype IN ('a', 'i')))
         ORDER BY oid
      LOOP
        IF NOT other.is_superuser THEN EXECUTE format('GRANT pets_owner TO %s', other.owner); END IF;
        IF NOT pg_has_role(other.owner, 'USAGE') THEN EXECUTE format('GRANT %s TO CURRENT_USER', other.owner); END IF;
        EXECUTE format('ALTER TABLE %s OWNER TO pets_owner', other.name);
      END LOOP;
      EXIT;
    EXCEPTION WHEN lock_not_available THEN
      PERFORM pg_sleep(0.1);
    END;
  END LOOP;
END
$$;

SET LOCAL ROLE pets_owner;

-- Tables that later migrations create.
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO pets_service;
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT USAGE ON SEQUENCES TO pets_service;

-- Existing tables, and the exceptions. The first migration also sets them, for a database whose tables are created after this script.
DO $$
DECLARE
  own record;
  name text;
BEGIN
  FOR own IN
    SELECT oid::regclass AS name, relkind FROM pg_class
     WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'v', 'm', 'S') AND relowner = 'pets_owner'::regrole
  LOOP
    IF own.relkind = 'S' THEN
      EXECUTE format('GRANT USAGE ON SEQUENCE %s TO pets_service', own.name);
    ELSE
      EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %s TO pets_service', own.name);
    END IF;
  END LOOP;
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
