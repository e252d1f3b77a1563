import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { join } from 'node:path';
import { programIn, type Binaries } from '../installation/binaries.js';
import { EmbeddedDatabaseError } from '../embedded-database-error.js';
import { installPrivately } from '../installation/private-installation.js';
import type { ServerFiles } from '../server/server-files.js';
import { relevantLine } from '../server/server-log.js';
import { preparePassword } from './server-password.js';
import { SUPERUSER } from '../server/server-session.js';
import {
  describeSpawnError,
  giveToServerUser,
  isServerUser,
  seenByServer,
  spawnAsServerUser,
  type ServerUser,
} from './server-user.js';
import { createTemporary, removeTemporary } from './temporary-folder.js';

/**
 * Creates the cluster if there is none. initdb works in a temporary folder, which is then renamed:
 * an interrupted initdb leaves no incomplete cluster, and only one of two processes wins.
 *
 * @throws EmbeddedDatabaseError also if the cluster belongs to another major version
 */
export async function ensureCluster(
  files: ServerFiles,
  binaries: Binaries,
  user: ServerUser | null,
  timeoutMs: number,
): Promise<void> {
  if (hasCluster(files)) {
    removeTemporary(files.cluster);
    checkVersion(files, binaries);
    giveToServerUser(files.cluster, user);
    return;
  }
  const created = createTemporary(files.cluster);
  try {
    giveToServerUser(created, user);
    await initialize(files, created, binaries, user, timeoutMs);
    putInPlace(created, files);
  } finally {
    rmSync(created, { recursive: true, force: true, maxRetries: 3 });
  }
}

function hasCluster(files: ServerFiles): boolean {
  return existsSync(files.cluster) && readdirSync(files.cluster).length > 0;
}

function checkVersion(files: ServerFiles, binaries: Binaries): void {
  const path = join(files.cluster, 'PG_VERSION');
  if (!existsSync(path)) {
    throw new EmbeddedDatabaseError(`${files.cluster} is not a PostgreSQL cluster`, 'move it away');
  }
  const version = readFileSync(path, 'utf8').trim();
  if (version !== String(binaries.major)) {
    throw new EmbeddedDatabaseError(
      `${files.cluster} was created by PostgreSQL ${version}, and the installed binaries are PostgreSQL ${binaries.major}`,
      `dump it with version ${version} and load the dump into a new DATA_DIR`,
    );
  }
}

function putInPlace(created: string, files: ServerFiles): void {
  try {
    renameSync(created, files.cluster);
  } catch (error) {
    if (hasCluster(files)) return;
    throw error;
  }
  if (process.platform === 'win32') return;
  // Without this, the cluster could be lost in a power cut.
  const folder = openSync(files.dataDir, 'r');
  fsyncSync(folder);
  closeSync(folder);
}

async function initialize(
  files: ServerFiles,
  folder: string,
  binaries: Binaries,
  user: ServerUser | null,
  timeoutMs: number,
): Promise<void> {
  const args = [
    `--pgdata=${seenByServer(folder, user)}`,
    `--username=${SUPERUSER}`,
    '--encoding=UTF8',
    '--locale=C',
    // Upper and lower case of all scripts, and sorting by code point: the same on all systems, and
    // after upgrades of their libraries.
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    '--no-instructions',
    ...(process.platform === 'win32'
      ? ['--auth=scram-sha-256', `--pwfile=${await preparePassword(files)}`]
      : ['--auth=trust']),
  ];
  const run = (installation: string) => runInitdb(installation, folder, args, user, timeoutMs);
  const needsPrivate = isServerUser(user) || !isSafeInShell(binaries.folder);
  let failure = needsPrivate ? NO_USER : await run(binaries.folder);
  if (failure?.includes(NO_USER)) {
    failure = await withPrivateInstallation(binaries, run);
  }
  if (failure !== null) {
    throw new EmbeddedDatabaseError(
      `the embedded database in ${files.dataDir} could not be created (${failure})`,
      'choose another DATA_DIR',
    );
  }
}

/** Part of initdb's message when the user has no entry in /etc/passwd. */
const NO_USER = 'effective user ID';

/** initdb starts the server through a shell, with the path of the server in double quotes. */
function isSafeInShell(path: string): boolean {
  return process.platform === 'win32' || !/["$`\\\n]/.test(path);
}

async function withPrivateInstallation(
  binaries: Binaries,
  use: (folder: string) => Promise<string | null>,
): Promise<string | null> {
  const parent = createTemporary(join(binaries.scratch, 'pets-initdb'));
  try {
    chmodSync(parent, 0o755);
    const folder = join(parent, 'postgres');
    const replaceUser = process.platform === 'linux';
    installPrivately(binaries.folder, folder, { replaceUser });
    return await use(folder);
  } finally {
    rmSync(parent, { recursive: true, force: true });
  }
}

/** Returns one line that says why initdb failed, or null. */
function runInitdb(
  installation: string,
  folder: string,
  args: readonly string[],
  user: ServerUser | null,
  timeoutMs: number,
): Promise<string | null> {
  const program = programIn(installation, 'initdb');
  return new Promise((resolve) => {
    // If this process is killed, initdb fails when it prints its next line to the closed pipe.
    const initdb = spawnAsServerUser(user, program, args, {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: false,
    });
    let output = '';
    initdb.stdout?.resume();
    initdb.stderr?.on('data', (chunk: Buffer) => (output += chunk.toString()));
    const timer = setTimeout(() => initdb.kill('SIGTERM'), timeoutMs);
    initdb.on('error', (error) => {
      clearTimeout(timer);
      resolve(describeSpawnError(error, program));
    });
    initdb.on('close', (code, signal) => {
      clearTimeout(timer);
      resolve(code === 0 ? null : relevantLine(output) || `initdb ended with ${signal ?? code}`);
    });
  });
}
