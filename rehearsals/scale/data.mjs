// @ts-check
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { DataSource } from 'typeorm';
import { migrations } from '#dist/platform/database/migrations/index.js';
import { hashKey, KeyMaker } from '#dist/platform/access/key-format.js';
import { seedAnimals } from '#dist/pets/pets-seed.repository.js';
import { ROOT } from '../../scripts/build-if-stale.mjs';
import { programOf } from '../../bench/comparison/peers.mjs';

/** Each owner has one API key of the first release. The audit trail says that it was issued. */
const INSERT_OWNERS = [
  `INSERT INTO owners (name, plan)
   SELECT 'Shelter ' || n, 'free' FROM generate_series(1, $1::integer) AS n`,
  `INSERT INTO api_keys (owner_id, hash, hint)
   SELECT id, sha256(name::bytea), '' FROM owners WHERE id <= $1`,
  `INSERT INTO operator_actions (actor, action, details)
   SELECT 'rehearsal', 'keys issue', jsonb_build_object('keyId', id, 'ownerId', owner_id)
     FROM api_keys WHERE id <= $1`,
];

const INSERT_KEYS = `
  INSERT INTO api_keys (owner_id, hash, hint, has_proof)
  SELECT owners.id, decode(issued.hash, 'hex'), '', true
    FROM unnest($1::text[], $2::text[]) AS issued (owner, hash)
    JOIN owners ON owners.name = issued.owner`;

/** @typedef {Awaited<ReturnType<typeof issueKeys>>} Keys */

/**
 * Creates a database with the schema of the first release, and fills it by SQL.
 *
 * @param {import('./server.mjs').Server} server
 * @param {string} name
 * @param {number} animals
 * @param {number} owners
 */
export async function fillFirstRelease(server, name, animals, owners) {
  await server.query('postgres', `CREATE DATABASE ${name}`);
  const url = server.envOf(name).DATABASE_URL;
  const source = new DataSource({ type: 'postgres', url, migrations: migrations.slice(0, 1) });
  await source.initialize();
  try {
    await source.runMigrations();
    await seedAnimals(source, animals, () => undefined);
    for (const sql of INSERT_OWNERS) await source.query(sql, [owners]);
    await source.query('VACUUM ANALYZE');
    await source.query('CHECKPOINT');
  } finally {
    await source.destroy();
  }
}

/**
 * Runs `pets db migrate`.
 *
 * @param {import('./server.mjs').Server} server
 * @param {string} database
 */
export async function migrate(server, database) {
  const env = { PATH: process.env.PATH, ...server.envOf(database) };
  await promisify(execFile)(process.execPath, [programOf(ROOT, 'cli'), 'db', 'migrate'], { env });
}

/**
 * Issues a second API key to each owner, and one to two other owners: `caller` has no limit in
 * practice, and `limited` has `limit` requests per minute.
 *
 * @param {import('./server.mjs').Server} server
 * @param {string} database
 * @param {number} owners
 * @param {number} limit
 */
export async function issueKeys(server, database, owners, limit) {
  const [{ secret }] = await server.query(database, 'SELECT secret FROM key_secret');
  const maker = new KeyMaker(secret);
  /** @param {string[]} names */
  const issue = async (names) => {
    const keys = names.map(() => maker.create());
    await server.query(database, INSERT_KEYS, [names, keys.map(hashKey)]);
    return keys;
  };
  await server.query(
    database,
    `INSERT INTO owners (name, plan, limit_per_minute, limit_per_day)
     VALUES ('caller', 'enterprise', 1000000000, 1000000000), ('limited', 'enterprise', $1, 1000000)`,
    [limit],
  );
  const [caller = '', limited = ''] = await issue(['caller', 'limited']);
  const ofOwners = await issue(
    Array.from({ length: owners }, (_, index) => `Shelter ${index + 1}`),
  );
  await server.query(database, 'VACUUM ANALYZE api_keys');
  return { caller, limited, ofOwners };
}
