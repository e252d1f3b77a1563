// @ts-check
// Before all tests: hosts for the services under test, one a worker; and a PostgreSQL server
// (TEST_DATABASE_URL, else the embedded one on a fresh folder), and in it a template database with
// the up-to-date schema that each test file copies.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { Settings } from '#dist/platform/config/settings.js';
import { locateDatabase } from '#dist/platform/database/database-location.js';
import { ensureCluster } from '#dist/platform/database/embedded/cluster.js';
import { openEmbeddedDatabase } from '#dist/platform/database/embedded/embedded-postgres.js';
import { migrate } from '#dist/platform/database/schema/migrate.js';
import { PRODUCT_FOLDER } from './product.mjs';

/** It has the tables of the migrations. */
const SCHEMA = 'schema_template';
/** It also has those of the product of the platform's tests. */
const TEMPLATE = 'test_template';
const PROGRAM = join(PRODUCT_FOLDER, 'dist/cli/main.js');

/** @param {{ maxWorkers: number }} config */
export async function startServices({ maxWorkers }) {
  const hosts = startHosts(maxWorkers);
  const serverUrl = process.env['TEST_DATABASE_URL'] ?? (await startServer());
  process.env['TEST_SERVER_URL'] = serverUrl;
  for (const name of [SCHEMA, TEMPLATE]) {
    await administer(serverUrl, `DROP DATABASE IF EXISTS ${name}`);
  }
  await administer(serverUrl, `CREATE DATABASE ${SCHEMA}`);
  const schema = new URL(serverUrl);
  schema.pathname = `/${SCHEMA}`;
  const { database: settings } = new Settings({ DATABASE_URL: schema.href });
  await migrate(await locateDatabase(settings, 'command'), settings);
  await administer(serverUrl, `CREATE DATABASE ${TEMPLATE} TEMPLATE ${SCHEMA}`);
  const template = new URL(serverUrl);
  template.pathname = `/${TEMPLATE}`;
  const env = { ...process.env, DATABASE_URL: template.href };
  await promisify(execFile)(process.execPath, [PROGRAM, 'db', 'migrate'], { env });

  process.env['TEST_HOST_PORTS'] = JSON.stringify(await hosts);

  globalThis.stopDatabaseServer ??= async () => {
    await administer(serverUrl, `DROP DATABASE ${TEMPLATE}`);
    await administer(serverUrl, `DROP DATABASE ${SCHEMA}`);
  };
}

/**
 * Returns the ports of the hosts. Each ends with its input, that is with this process at the
 * latest.
 *
 * @param {number} count
 */
function startHosts(count) {
  const script = join(PRODUCT_FOLDER, 'service-host.mjs');
  return Promise.all(
    Array.from({ length: count }, async () => {
      const host = spawn(process.execPath, [script], { stdio: ['pipe', 'pipe', 'inherit'] });
      globalThis.serviceHosts = [...(globalThis.serviceHosts ?? []), host];
      const [port] = await once(host.stdout, 'data');
      return Number(port);
    }),
  );
}

/** Returns the address of its maintenance database. */
async function startServer() {
  const dataDir = await mkdtemp(join(tmpdir(), 'pets-test-'));
  if (process.platform === 'linux') await keepCluster(dataDir);
  const database = await openEmbeddedDatabase(dataDir, 'service');
  globalThis.stopDatabaseServer = async () => {
    await database.close();
    await rm(dataDir, { recursive: true, force: true });
  };
  const { host, port, user } = database.connection;
  const url = new URL(`postgres://localhost:${port}/postgres`);
  url.username = user;
  // A socket's folder does not fit into the place of a host name.
  url.searchParams.set('host', host);
  return url.href;
}

/**
 * Makes the cluster, and keeps a copy for the tests of the embedded database: initdb costs more
 * than a copy.
 * @param {string} dataDir
 */
async function keepCluster(dataDir) {
  await ensureCluster(dataDir);
  const copy = join(dataDir, 'kept');
  await promisify(execFile)('cp', ['-a', join(dataDir, 'postgres'), copy]);
  process.env['TEST_CLUSTER'] = copy;
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
