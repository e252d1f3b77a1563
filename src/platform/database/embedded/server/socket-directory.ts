import { createHash } from 'node:crypto';
import { chmodSync, lstatSync, mkdirSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { EmbeddedDatabaseError } from '../embedded-database-error.js';
import type { ServerFiles } from './server-files.js';
import { giveToServerUser, type ServerUser } from '../cluster/server-user.js';

/** A part of the socket's file name. Nothing listens on the network. */
export const SOCKET_PORT = 5432;

const TEMPORARY_PREFIX = 'pets-';

/** The length of sockaddr_un.sun_path without the final NUL. */
const MAX_SOCKET_PATH_BYTES = process.platform === 'linux' ? 107 : 103;

export function socketPath(directory: string, port = SOCKET_PORT): string {
  return join(directory, `.s.PGSQL.${port}`);
}

function fits(directory: string): boolean {
  return Buffer.byteLength(socketPath(directory)) <= MAX_SOCKET_PATH_BYTES;
}

/** Returns the cluster's folder, or a temporary folder if that path is too long for a socket. */
export function socketDirectory(files: ServerFiles): string {
  if (fits(files.cluster)) return files.cluster;
  const digest = createHash('sha256').update(files.cluster).digest('hex');
  const name = `${TEMPORARY_PREFIX}${digest.slice(0, 20)}`;
  // The server's user may not be able to enter root's TMPDIR.
  const inTemporary = join(process.getuid?.() === 0 ? '/tmp' : tmpdir(), name);
  return fits(inTemporary) ? inTemporary : join('/tmp', name);
}

/**
 * Creates the socket's folder. Only the server's user can read it.
 *
 * @throws EmbeddedDatabaseError if another user has created a folder of this name
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

/** Removes a temporary folder. A process that starts a server now creates it again. */
export function removeSocketDirectory(files: ServerFiles, directory: string): void {
  if (directory === files.cluster || !basename(directory).startsWith(TEMPORARY_PREFIX)) return;
  try {
    rmdirSync(directory);
  } catch {
    // It is in use again, or already removed.
  }
}
