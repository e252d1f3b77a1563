import { DataSource } from 'typeorm';
import { CreateStore1795132800000 } from '../../../../src/platform/database/migrations/1795132800000-create-store.js';
import { KeepFirstAnswers1795219200000 } from '../../../../src/platform/database/migrations/1795219200000-keep-first-answers.js';
import { withDatabase } from '../../../harness/database/database.js';
import { catalogue, runOnSchema } from '../../../harness/database/schema.js';

const EMPTY = { template: 'template0' };

/** The migrations of builds between the first release and the next one. */
const UNRELEASED_MIGRATIONS = `
  CREATE TABLE outbox_events (
    id bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT outbox_events_pkey PRIMARY KEY,
    event text NOT NULL, handler text NOT NULL, payload text NOT NULL,
    attempts integer NOT NULL DEFAULT 0, next_attempt_at timestamptz DEFAULT now(),
    last_error text, created_at timestamptz NOT NULL DEFAULT now()
  );
  ALTER TABLE api_keys ADD has_proof boolean NOT NULL DEFAULT false;
  CREATE TABLE key_secret (secret bytea CONSTRAINT key_secret_pkey PRIMARY KEY);
  INSERT INTO key_secret VALUES ('unreleased');
  CREATE INDEX outbox_events_handler_next_attempt_at_idx ON outbox_events (handler, next_attempt_at);
  CREATE INDEX operator_actions_rotated_key_idx
      ON operator_actions (((details ->> 'keyId')::bigint)) WHERE action = 'keys rotate';
  INSERT INTO migrations (timestamp, name)
  VALUES (1795305600000, 'AddOutboxEvents1795305600000'), (1795395600000, 'AddKeySecret1795395600000'),
         (1795482000000, 'IndexEventsByHandler1795482000000'),
         (1795568400000, 'LinkEventsToRequests1795568400000'), (1795654800000, 'IndexRotations1795654800000');
  INSERT INTO outbox_events (event, handler, payload) VALUES ('adopted', 'letters', '{}')`;

/** Key 1 was rotated to key 2, which was rotated to key 4. Key 3 is another one. */
const FIRST_RELEASE_ROWS = `
  INSERT INTO owners (name, plan) VALUES ('shelter', 'pro');
  INSERT INTO api_keys (owner_id, hash, hint)
  SELECT 1, sha256(n::text::bytea), '' FROM generate_series(1, 4) AS n;
  INSERT INTO operator_actions (actor, action, details)
  VALUES ('ann', 'keys issue', '{"keyId": 1}'), ('ann', 'keys rotate', '{"keyId": 1, "newKeyId": 2}'),
         ('ann', 'keys rotate', '{"keyId": 2, "newKeyId": 3}'), ('ann', 'keys rotate', '{"keyId": 2, "newKeyId": 4}')`;

/** The statements of a replica of the first release. */
const FIRST_RELEASE_STATEMENTS = `
  INSERT INTO api_keys (owner_id, hash, hint) VALUES (1, sha256('new'), '');
  UPDATE api_keys SET last_used_at = now();
  INSERT INTO idempotency_keys VALUES (1, 'k', sha256('a'), '{}', now())`;

test.each([
  ['the first release', FIRST_RELEASE_ROWS, []],
  ['a later build', `${FIRST_RELEASE_ROWS};${UNRELEASED_MIGRATIONS}`, [{ event: 'adopted' }]],
])(
  'the migrations since the first release keep the rows of %s, and its replicas keep working',
  (_, rows, events) =>
    withDatabase(async (database) => {
      const released = new DataSource({
        type: 'postgres',
        url: database.url,
        migrations: [CreateStore1795132800000, KeepFirstAnswers1795219200000],
      });
      await released.initialize();
      await released.runMigrations();
      await released.destroy();
      await database.query(rows);

      const executed = await runOnSchema<string[]>('migrate', database);
      expect(executed).toContain('AddEventsAndKeyProofs1795741200000');
      expect(
        await database.query('SELECT id::int, successor_id::int FROM api_keys ORDER BY 1'),
      ).toEqual([
        { id: 1, successor_id: 2 },
        { id: 2, successor_id: 4 },
        { id: 3, successor_id: null },
        { id: 4, successor_id: null },
      ]);
      expect(await database.query('SELECT event FROM outbox_events')).toEqual(events);
      const [row] = await database.query<{ secret: Buffer }>('SELECT secret FROM key_secret');
      expect(row!.secret.toString() === 'unreleased').toBe(events.length > 0);
      await withDatabase(async (created) => {
        expect(await catalogue(database)).toEqual(await catalogue(created));
      });
      await database.query(FIRST_RELEASE_STATEMENTS);
    }, EMPTY),
);
