// @ts-check
// Before all tests: hosts for the services under test, one a worker; and a PostgreSQL server (TEST_DATABASE_URL, else the embedded
// one), and in it template databases with the up-to-date schema that each test file copies. The embedded server keeps them for the
// next run.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rm, stat, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import pg from 'pg';
import { PRODUCT_FOLDER, TEAM_FOLDER } from './product.mjs';

/** The folders of other versions of the schema are removed after this time. */
const UNUSED_LIMIT_MS = 86_400_000;

/** It has the tables of the migrations. */
const SCHEMA = 'schema_template';
/** It also has those of the product of the platform's tests. */
const TEMPLATE = 'test_template';

/** @typedef {typeof import('../../../src/platform/database/embedded/cluster.js')} Cluster */
/** @typedef {typeof import('../../../src/platform/database/embedded/embedded-postgres.js')} Embedded */
/** @typedef {typeof import('../../../src/product.js')} Names */

/**
 * @param {string} digest of the code that creates the schema
 * @param {number} hostCount
 */
export async function startServices(digest, hostCount) {
  const hosts = startHosts(hostCount);
  const ownUrl = process.env['TEST_DATABASE_URL'];
  const serverUrl = ownUrl ?? (await startServer(digest));
  process.env['TEST_SERVER_URL'] = serverUrl;
  if (ownUrl !== undefined) {
    const drop = async () => {
      await administer(serverUrl, ...[TEMPLATE, SCHEMA].map(dropStatement));
    };
    await drop();
    globalThis.stopDatabaseServer = drop;
  }
  await createTemplates(serverUrl);
  process.env['TEST_HOST_PORTS'] = JSON.stringify(await hosts);
}

/** @param {string} name */
const dropStatement = (name) => `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`;

/** Creates the template databases, unless an earlier run did. @param {string} serverUrl */
async function createTemplates(serverUrl) {
  const databases = await administer(serverUrl, 'SELECT datname FROM pg_database');
  const names = databases.map(({ datname }) => String(datname));
  // An earlier run was interrupted.
  await administer(
    serverUrl,
    ...names.filter((name) => /^test_\w{12}$/.test(name)).map(dropStatement),
  );
  if (names.includes(TEMPLATE)) return;
  await administer(serverUrl, dropStatement(SCHEMA), dropStatement('migrating'));
  for (const [folder, name] of /** @type {const} */ ([
    [TEAM_FOLDER, SCHEMA],
    [PRODUCT_FOLDER, TEMPLATE],
  ])) {
    const origin = name === TEMPLATE ? ` TEMPLATE ${SCHEMA}` : '';
    await administer(serverUrl, `CREATE DATABASE migrating${origin}`);
    const url = new URL(serverUrl);
    url.pathname = '/migrating';
    const env = { ...process.env, DATABASE_URL: url.href };
    const program = join(folder, 'src/cli/main.js');
    await promisify(execFile)(process.execPath, [program, 'db', 'migrate'], { env });
    // Complete only under its own name.
    await administer(serverUrl, `ALTER DATABASE migrating RENAME TO ${name}`);
  }
}

/**
 * Returns the ports of the hosts. Each ends with its input, that is with this process at the
 * latest.
 *
 * @param {number} count
 */
function startHosts(count) {
  const script = join(PRODUCT_FOLDER, 'test/harness/programs/service-host.js');
  return Promise.all(
    Array.from({ length: count }, async () => {
      const host = spawn(process.execPath, ['--enable-source-maps', script], {
        stdio: ['pipe', 'pipe', 'inherit'],
      });
      globalThis.serviceHosts = [...(globalThis.serviceHosts ?? []), host];
      const [port] = await once(host.stdout, 'data');
      return Number(port);
    }),
  );
}

/**
 * Starts the embedded server of the folder that belongs to the digest, or of a new one if another run uses it. Returns the address of
 * its maintenance database.
 *
 * @param {string} digest of the code that creates the schema
 */
async function startServer(digest) {
  const { openEmbeddedDatabase } = /** @type {Embedded} */ (await load('embedded-postgres.js'));
  const prefix = `pets-test-${process.getuid?.() ?? ''}-`;
  let dataDir = join(tmpdir(), `${prefix}${digest.slice(0, 16)}`);
  for (const name of (await readdir(tmpdir())).filter((name) => name.startsWith(prefix))) {
    const path = join(tmpdir(), name);
    const { mtimeMs } = await stat(path);
    if (Date.now() - mtimeMs > UNUSED_LIMIT_MS) await rm(path, { recursive: true, force: true });
  }
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  await utimes(dataDir, new Date(), new Date());
  if ((await stat(dataDir)).uid !== process.getuid?.()) throw new Error(`${dataDir} is not ours`);
  await prepareCluster(dataDir);
  let isKept = true;
  const database = await openEmbeddedDatabase(await settingsFor(dataDir), 'service').catch(
    async () => {
      isKept = false;
      dataDir = await mkdtemp(join(tmpdir(), prefix));
      await prepareCluster(dataDir);
      return openEmbeddedDatabase(await settingsFor(dataDir), 'service');
    },
  );
  globalThis.stopDatabaseServer = async () => {
    await database.close();
    if (!isKept) await rm(dataDir, { recursive: true, force: true });
  };
  const { host, port, user } = database.connection;
  const url = new URL(`postgres://localhost:${port}/postgres`);
  url.username = user;
  // A socket's folder does not fit into the place of a host name.
  url.searchParams.set('host', host);
  return url.href;
}

/**
 * Creates the cluster, and on Linux a copy for the tests of the embedded database: initdb costs more than a copy.
 *
 * @param {string} dataDir
 */
async function prepareCluster(dataDir) {
  const copy = join(dataDir, 'kept');
  const { ensureCluster, hasCluster } = /** @type {Cluster} */ (await load('cluster.js'));
  if (!hasCluster(dataDir)) {
    await ensureCluster(await settingsFor(dataDir));
    if (process.platform === 'linux') {
      await promisify(execFile)('cp', ['-a', join(dataDir, 'postgres'), copy]);
    }
  }
  if (process.platform === 'linux') process.env['TEST_CLUSTER'] = copy;
}

/** Returns the settings of an embedded database of the product. @param {string} dataDir */
async function settingsFor(dataDir) {
  const { PRODUCT } = /** @type {Names} */ (await load('../../../product.js'));
  return { dataDir, name: PRODUCT.database, programsFolder: `/var/cache/${PRODUCT.name}` };
}

/** @param {string} name of a file of platform/database/embedded */
function load(name) {
  return import(pathToFileURL(join(TEAM_FOLDER, 'src/platform/database/embedded', name)).href);
}

/**
 * @param {string} serverUrl
 * @param {string[]} statements
 * @returns {Promise<Record<string, unknown>[]>} the rows of the last one
 */
async function administer(serverUrl, ...statements) {
  const client = new pg.Client({ connectionString: serverUrl });
  await client.connect();
  try {
    let rows = [];
    for (const statement of statements) ({ rows } = await client.query(statement));
    return rows;
  } finally {
    await client.end();
  }
}
