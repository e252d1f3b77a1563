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
import { makeUnfinished, removeUnfinished } from './unfinished.js';

/**
 * Makes the cluster when there is none. initdb works in a folder of its own that is then renamed,
 * so that one killed on the way is not taken for a cluster, and of two at once one wins.
 * @throws EmbeddedDatabaseError also when the cluster is of another major version
 */
export async function ensureCluster(
  files: ServerFiles,
  binaries: Binaries,
  user: ServerUser | null,
  timeoutMs: number,
): Promise<void> {
  if (hasCluster(files)) {
    removeUnfinished(files.cluster);
    checkVersion(files, binaries);
    giveToServerUser(files.cluster, user);
    return;
  }
  const made = makeUnfinished(files.cluster);
  try {
    giveToServerUser(made, user);
    await initialize(files, made, binaries, user, timeoutMs);
    putInPlace(made, files);
  } finally {
    rmSync(made, { recursive: true, force: true, maxRetries: 3 });
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
      `${files.cluster} was made by PostgreSQL ${version}, and the installed binaries are PostgreSQL ${binaries.major}`,
      `dump it with version ${version} and load the dump into a new DATA_DIR`,
    );
  }
}

function putInPlace(made: string, files: ServerFiles): void {
  try {
    renameSync(made, files.cluster);
  } catch (error) {
    if (hasCluster(files)) return;
    throw error;
  }
  if (process.platform === 'win32') return;
  // Without this a power cut could take the cluster back, with all that was written since.
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
    '-D',
    seenByServer(folder, user),
    '-U',
    SUPERUSER,
    '--encoding=UTF8',
    '--locale=C',
    // Upper and lower case of every script, sorting by code point: alike on all systems and over
    // upgrades of their libraries.
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    '--no-instructions',
    ...(process.platform === 'win32'
      ? ['--auth=scram-sha-256', `--pwfile=${await preparePassword(files)}`]
      : ['--auth=trust']),
  ];
  const run = (installation: string): Promise<string | null> =>
    runInitdb(installation, folder, args, user, timeoutMs);
  const needsPrivate = isServerUser(user) || !isSafeInShell(binaries.folder);
  let failure = needsPrivate ? NO_USER : await run(binaries.folder);
  if (failure?.includes(NO_USER) === true && process.platform !== 'win32') {
    failure = await withPrivateInstallation(binaries, run);
  }
  if (failure !== null) {
    throw new EmbeddedDatabaseError(
      `the embedded database in ${files.dataDir} could not be made (${failure})`,
      'choose another DATA_DIR',
    );
  }
}

/** initdb's message where the user has no entry in /etc/passwd. */
const NO_USER = 'effective user ID';

/** initdb starts the server by a shell, with its own path in double quotes. */
function isSafeInShell(path: string): boolean {
  return process.platform === 'win32' || !/["$`\\\n]/.test(path);
}

async function withPrivateInstallation<T>(
  binaries: Binaries,
  use: (folder: string) => Promise<T>,
): Promise<T> {
  const parent = makeUnfinished(join(binaries.scratch, 'pets-initdb'));
  try {
    chmodSync(parent, 0o755);
    const folder = join(parent, 'postgres');
    installPrivately(binaries.folder, folder, { anonymousUser: process.platform === 'linux' });
    return await use(folder);
  } finally {
    rmSync(parent, { recursive: true, force: true });
  }
}

/** @returns why it failed, in one line, or null */
function runInitdb(
  installation: string,
  folder: string,
  args: readonly string[],
  user: ServerUser | null,
  timeoutMs: number,
): Promise<string | null> {
  const program = programIn(installation, 'initdb');
  return new Promise((resolve) => {
    // Its output is a pipe to us: when we are killed, initdb ends at the next line it prints.
    const initdb = spawnAsServerUser(user, program, args, {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: false,
    });
    let output = '';
    initdb.stdout?.on('data', () => undefined);
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
