import { createHash } from 'node:crypto';
import { chmodSync, lstatSync, mkdirSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { EmbeddedDatabaseError } from '../embedded-database-error.js';
import type { ServerFiles } from './server-files.js';
import { giveToServerUser, type ServerUser } from '../cluster/server-user.js';

/** Part of the socket's file name only: nothing listens on the network. */
export const SOCKET_PORT = 5432;

const TEMPORARY_PREFIX = 'pets-';

/** sockaddr_un.sun_path without its closing NUL. */
const LONGEST_SOCKET_PATH = process.platform === 'linux' ? 107 : 103;

export function socketPath(directory: string, port = SOCKET_PORT): string {
  return join(directory, `.s.PGSQL.${port}`);
}

function fits(directory: string): boolean {
  return Buffer.byteLength(socketPath(directory)) <= LONGEST_SOCKET_PATH;
}

/**
 * The cluster's own folder, or where that path is too long for a socket, a private one among the
 * temporary files.
 */
export function socketDirectory(files: ServerFiles): string {
  if (fits(files.cluster)) return files.cluster;
  const name = `${TEMPORARY_PREFIX}${createHash('sha256').update(files.cluster).digest('hex').slice(0, 20)}`;
  // Root's TMPDIR may be one that the server's user cannot enter.
  const inTemporary = join(process.getuid?.() === 0 ? '/tmp' : tmpdir(), name);
  return fits(inTemporary) ? inTemporary : join('/tmp', name);
}

/**
 * Makes the socket's folder, readable by the server's user alone.
 * @throws EmbeddedDatabaseError when somebody else has taken its name
 */
export function prepareSocketDirectory(files: ServerFiles, user: ServerUser | null): string {
  const directory = socketDirectory(files);
  if (directory === files.cluster) return directory;
  try {
    mkdirSync(directory, { mode: 0o700 });
    chmodSync(directory, 0o700);
    giveToServerUser(directory, user);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  const stats = lstatSync(directory);
  const owner = user?.uid ?? process.getuid?.();
  if (!stats.isDirectory() || stats.uid !== owner || (stats.mode & 0o077) !== 0) {
    throw new EmbeddedDatabaseError(
      `${directory}, for the embedded PostgreSQL's socket, is not a private folder of user ${owner}`,
      'remove it, or choose a DATA_DIR with a shorter path',
    );
  }
  return directory;
}

/**
 * Leaves nothing among the temporary files. Whoever starts a server at this moment makes the folder
 * again.
 */
export function removeSocketDirectory(files: ServerFiles, directory: string): void {
  if (directory === files.cluster || !basename(directory).startsWith(TEMPORARY_PREFIX)) return;
  try {
    rmdirSync(directory);
  } catch {
    // In use again, or gone.
  }
}
