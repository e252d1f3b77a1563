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
 * The user that runs the server when root starts it: one of its own, which no other program runs as. The number is one
 * that systemd's allocation (https://systemd.io/UIDS-GIDS) leaves unused; it needs no entry in /etc/passwd.
 */
const SERVER_USER: ServerUser = { uid: 61_000, gid: 61_000 };

/** "nobody", which the first release used, and which other programs run as. */
const NOBODY_UID = 65_534;

/** A process's own working directory, without a look at the folders above it. */
const WORKING_DIRECTORY = '/proc/self/cwd';

/** Returns the user that runs the server, since PostgreSQL refuses to run as root. Null: the user of this process. */
export function chooseServerUser(files: ServerFiles): ServerUser | null {
  if (process.getuid?.() !== 0) return null;
  const ownerOfFolder = ownerOf(files.dataDir);
  if (ownerOfFolder !== undefined && ownerOfFolder.uid !== 0) return ownerOfFolder;
  const ownerOfCluster = ownerOf(files.cluster);
  if (ownerOfCluster === undefined || ownerOfCluster.uid === 0) return SERVER_USER;
  // The first release's: not while its server may be running, which would lose its files.
  const mayChange = !existsSync(join(files.cluster, 'postmaster.pid'));
  return ownerOfCluster.uid === NOBODY_UID && mayChange ? SERVER_USER : ownerOfCluster;
}

function ownerOf(folder: string): ServerUser | undefined {
  const stats = statSync(folder, { throwIfNoEntry: false });
  return stats && { uid: stats.uid, gid: stats.gid };
}

/** Whether the user is the server's own, which has no entry in /etc/passwd. */
export function isServerUser(user: ServerUser | null): boolean {
  return user?.uid === SERVER_USER.uid;
}

/**
 * Returns the path by which a program started by `spawnAsServerUser` reaches its working directory. Another user may not
 * be allowed to enter the folders above (a checkout in /root), and needs no permission for them this way.
 */
export function seenByServer(workingDirectory: string, user: ServerUser | null): string {
  return user !== null && process.platform === 'linux' ? WORKING_DIRECTORY : workingDirectory;
}

/**
 * Hands a file, or a folder's whole tree, to the server's user.
 * @throws EmbeddedDatabaseError when root may not, as in some containers
 */
export function giveToServerUser(path: string, user: ServerUser | null): void {
  if (user === null || lstatSync(path).uid === user.uid) return;
  const isFolder = lstatSync(path).isDirectory();
  const contents = isFolder ? readdirSync(path, { withFileTypes: true, recursive: true }) : [];
  try {
    for (const entry of contents)
      lchownSync(join(entry.parentPath, entry.name), user.uid, user.gid);
    // Last, so that an interrupted hand-over is begun again.
    lchownSync(path, user.uid, user.gid);
  } catch (cause) {
    throw new EmbeddedDatabaseError(
      `PostgreSQL does not run as root, and this root may not give ${path} to user ${user.uid}`,
      'start the service as an ordinary user',
      { cause },
    );
  }
}

/** Starts a program as the server's user, without any capability. */
export function spawnAsServerUser(
  user: ServerUser | null,
  program: string,
  args: readonly string[],
  options: { cwd: string; stdio: StdioOptions; detached: boolean },
): ChildProcess {
  const common = { ...options, env: childEnvironment(), windowsHide: true };
  return spawn(program, args, user === null ? common : { ...common, ...user });
}

/** Why a program could not be run. */
export function describeSpawnError(error: NodeJS.ErrnoException, program: string): string {
  // What the kernel does not find is then the loader that the program names.
  const lacksLoader = error.code === 'ENOENT' && existsSync(program);
  return lacksLoader
    ? `${program} needs the GNU C library, which this system lacks`
    : error.message;
}
