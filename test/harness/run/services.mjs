// @ts-check
// Before all tests: hosts for the services under test, one a worker; and a PostgreSQL server (TEST_DATABASE_URL, else one
// with the programs of the embedded one), and in it template databases with the up-to-date schema that each test file copies. Its folder
// keeps them for the next run.
import { execFile, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
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

/** A part of the name of the socket. */
const SOCKET_PORT = 5432;

/**
 * Those of the product, except that nothing has to survive a power cut: dropping a database would wait until the files of all others
 * are written to the disk.
 */
const SERVER_SETTINGS = {
  fsync: 'off',
  full_page_writes: 'off',
  autovacuum: 'off',
  log_min_messages: 'fatal',
  listen_addresses: '',
  port: SOCKET_PORT,
  unix_socket_directories: '.',
  unix_socket_permissions: '0600',
  dynamic_shared_memory_type: 'mmap',
};

/** It has the tables of the migrations. */
const SCHEMA = 'schema_template';
/** It also has those of the product of the platform's tests. */
const TEMPLATE = 'test_template';

/** @typedef {typeof import('../../../src/platform/database/embedded/cluster.js')} Cluster */
/** @typedef {typeof import('../../../src/platform/database/embedded/programs.js')} Programs */
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
  process.env['TEST_RUN'] = randomUUID();
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
    await administer(url.href, 'TRUNCATE operator_actions RESTART IDENTITY');
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
 * Starts a server in the folder that belongs to the digest, or in a new one if another run uses it. Returns the address of its
 * maintenance database.
 *
 * @param {string} digest of the code that creates the schema
 */
async function startServer(digest) {
  const prefix = `pets-tests-${process.getuid?.() ?? ''}-`;
  const dataDir = join(tmpdir(), `${prefix}${digest.slice(0, 16)}`);
  for (const name of (await readdir(tmpdir())).filter((name) => name.startsWith(prefix))) {
    const path = join(tmpdir(), name);
    const { mtimeMs } = await stat(path);
    if (Date.now() - mtimeMs > UNUSED_LIMIT_MS) await rm(path, { recursive: true, force: true });
  }
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  await utimes(dataDir, new Date(), new Date());
  if ((await stat(dataDir)).uid !== process.getuid?.()) throw new Error(`${dataDir} is not ours`);
  const kept = await startIn(dataDir).catch(() => undefined);
  if (kept !== undefined) return kept;
  const own = await mkdtemp(join(tmpdir(), prefix));
  const url = await startIn(own);
  if (url === undefined) throw new Error(`another process uses ${own}`);
  const stop = globalThis.stopDatabaseServer;
  globalThis.stopDatabaseServer = async () => {
    await stop?.();
    await rm(own, { recursive: true, force: true });
  };
  return url;
}

/**
 * Starts the server of a folder, with its cluster if there is none, or uses one that an interrupted run has left. Returns the address
 * of its maintenance database; undefined if another run uses it.
 *
 * @param {string} dataDir
 */
async function startIn(dataDir) {
  const { programs, user } = await prepareCluster(dataDir);
  const { runProgram, WORKING_FOLDER } = /** @type {Programs} */ (await load('programs.js'));
  const host = join(dataDir, 'postgres');
  /** @param {string[]} args */
  const control = (...args) =>
    runProgram(programs, 'pg_ctl', [...args, '-s', '-D', WORKING_FOLDER], host);
  const options = Object.entries(SERVER_SETTINGS).map(([name, value]) => `-c ${name}=${value}`);
  await control('start', '-w', '-l', 'server.log', '-o', options.join(' ')).catch(() => undefined);
  const session = new pg.Client({ host, port: SOCKET_PORT, user, database: 'postgres' });
  session.on('error', () => undefined);
  await session.connect();
  const { rows } = await session.query('SELECT pg_try_advisory_lock(1) AS "isOwner"');
  if (!rows[0].isOwner) {
    await session.end();
    return undefined;
  }
  globalThis.stopDatabaseServer = async () => {
    await session.end();
    await control('stop', '-m', 'fast');
  };
  const url = new URL(`postgres://localhost:${SOCKET_PORT}/postgres`);
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
  const settings = await settingsFor(dataDir);
  const isNew = !hasCluster(dataDir);
  const programs = await ensureCluster(settings);
  if (process.platform === 'linux') {
    if (isNew) await promisify(execFile)('cp', ['-a', join(dataDir, 'postgres'), copy]);
    process.env['TEST_CLUSTER'] = copy;
  }
  return { programs, user: settings.name };
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
