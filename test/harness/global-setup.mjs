// @ts-check
// Before all tests: a PostgreSQL server (TEST_DATABASE_URL, else the embedded one on a fresh folder), and
// in it a template database with the up-to-date schema that each test file copies.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { Settings } from '#dist/config/settings.js';
import { locateDatabase } from '#dist/database/database-location.js';
import { openEmbeddedDatabase } from '#dist/database/embedded/embedded-postgres.js';
import { migrate } from '#dist/database/migrate.js';

const TEMPLATE = 'pets_template';

export default async function globalSetup() {
  const serverUrl = process.env['TEST_DATABASE_URL'] ?? (await startServer());
  process.env['TEST_SERVER_URL'] = serverUrl;
  await administer(serverUrl, `DROP DATABASE IF EXISTS ${TEMPLATE}`);
  await administer(serverUrl, `CREATE DATABASE ${TEMPLATE}`);
  const template = new URL(serverUrl);
  template.pathname = `/${TEMPLATE}`;
  const settings = new Settings({ DATABASE_URL: template.href });
  await migrate(await locateDatabase(settings, 'command'), settings);

  globalThis.stopDatabaseServer ??= () => administer(serverUrl, `DROP DATABASE ${TEMPLATE}`);
}

/** Returns the address of its maintenance database. */
async function startServer() {
  const dataDir = await mkdtemp(join(tmpdir(), 'pets-test-'));
  const database = await openEmbeddedDatabase({ dataDir, use: 'service' });
  globalThis.stopDatabaseServer = async () => {
    await database.close();
    await rm(dataDir, { recursive: true, force: true });
  };
  const { host, port, user, password = '' } = database.connection;
  const url = new URL(`postgres://localhost:${port}/postgres`);
  url.username = user;
  url.password = password;
  // A socket's folder does not fit into the place of a host name.
  url.searchParams.set('host', host);
  return url.href;
}

/**
 * @param {string} serverUrl
 * @param {string} sql
 */
async function administer(serverUrl, sql) {
  const client = new pg.Client({ connectionString: serverUrl });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
