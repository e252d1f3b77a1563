import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process';
import { existsSync, lchownSync, lstatSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { childEnvironment } from './child-environment.js';
import { EmbeddedDatabaseError } from '../embedded-database-error.js';
import type { ServerFiles } from '../server/server-files.js';

export interface ServerUser {
  readonly uid: number;
  readonly gid: number;
}

/**
 * The user that runs the server when root starts it. No other program runs as this user: systemd
 * does not allocate the number (https://systemd.io/UIDS-GIDS). It needs no entry in /etc/passwd.
 */
const SERVER_USER: ServerUser = { uid: 61_000, gid: 61_000 };

/** "nobody", which the first release used and which other programs use. */
const NOBODY_UID = 65_534;

/** The working directory of a process. It needs no permission for the parent folders. */
const WORKING_DIRECTORY = '/proc/self/cwd';

/** Returns the user that runs the server, which cannot be root; null: the user of this process. */
export function chooseServerUser(files: ServerFiles): ServerUser | null {
  if (process.getuid?.() !== 0) return null;
  const ownerOfFolder = ownerOf(files.dataDir);
  if (ownerOfFolder !== undefined && ownerOfFolder.uid !== 0) return ownerOfFolder;
  const ownerOfCluster = ownerOf(files.cluster);
  if (ownerOfCluster === undefined || ownerOfCluster.uid === 0) return SERVER_USER;
  // A running server of the first release needs access to its files.
  const mayChange = !existsSync(join(files.cluster, 'postmaster.pid'));
  return ownerOfCluster.uid === NOBODY_UID && mayChange ? SERVER_USER : ownerOfCluster;
}

function ownerOf(folder: string): ServerUser | undefined {
  const stats = statSync(folder, { throwIfNoEntry: false });
  return stats && { uid: stats.uid, gid: stats.gid };
}

/** Whether the user is SERVER_USER, which has no entry in /etc/passwd. */
export function isServerUser(user: ServerUser | null): boolean {
  return user?.uid === SERVER_USER.uid;
}

/**
 * Returns the path by which a program started by `spawnAsServerUser` opens its working directory.
 * Another user may not be allowed to enter the parent folders, for example /root.
 */
export function seenByServer(workingDirectory: string, user: ServerUser | null): string {
  return user !== null && process.platform === 'linux' ? WORKING_DIRECTORY : workingDirectory;
}

/**
 * Makes the server's user the owner of a file, or of a folder with all it contains.
 *
 * @throws EmbeddedDatabaseError if root is not allowed to, as in some containers
 */
export function giveToServerUser(path: string, user: ServerUser | null): void {
  if (user === null || lstatSync(path).uid === user.uid) return;
  const isFolder = lstatSync(path).isDirectory();
  const contents = isFolder ? readdirSync(path, { withFileTypes: true, recursive: true }) : [];
  try {
    for (const entry of contents)
      lchownSync(join(entry.parentPath, entry.name), user.uid, user.gid);
    // Last, so that an interrupted change is repeated.
    lchownSync(path, user.uid, user.gid);
  } catch (cause) {
    throw new EmbeddedDatabaseError(
      `PostgreSQL does not run as root, and this root may not give ${path} to user ${user.uid}`,
      'start the service as an ordinary user',
      { cause },
    );
  }
}

/** Starts a program as the server's user, without capabilities. */
export function spawnAsServerUser(
  user: ServerUser | null,
  program: string,
  args: readonly string[],
  options: { cwd: string; stdio: StdioOptions; detached: boolean },
): ChildProcess {
  return spawn(program, args, { ...options, ...user, env: childEnvironment(), windowsHide: true });
}

/** Returns why a program could not be started. */
export function describeSpawnError(error: NodeJS.ErrnoException, program: string): string {
  // If the program exists, the missing file is the loader that it requires.
  const lacksLoader = error.code === 'ENOENT' && existsSync(program);
  return lacksLoader
    ? `${program} needs the GNU C library, which this system lacks`
    : error.message;
}
