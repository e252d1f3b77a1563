import { execFileSync, spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { EmbeddedDatabaseError } from './embedded-database-error.js';

export interface ServerUser {
  readonly uid: number;
  readonly gid: number;
}

/** Exists on Linux with the GNU C library. Its other processes can use the cluster too. */
const NOBODY: ServerUser = { uid: 65_534, gid: 65_534 };

/**
 * Returns the user that runs the server for root: the owner of DATA_DIR, or "nobody" if root owns
 * it. Returns null for other users, who run the server themselves.
 *
 * @throws EmbeddedDatabaseError for root on other systems than Linux
 */
export function chooseServerUser(dataDir: string): ServerUser | null {
  if (process.getuid?.() !== 0) return null;
  if (process.platform !== 'linux') throw rootError('only Linux has another user for it');
  const { uid, gid } = statSync(dataDir);
  // initdb fails for a user without a name.
  return uid !== 0 && spawnSync('id', [String(uid)]).status === 0 ? { uid, gid } : NOBODY;
}

/**
 * Makes the server's user the owner of a folder with all it contains.
 *
 * @throws EmbeddedDatabaseError if root is not allowed to, as in some containers
 */
export function giveToServerUser(folder: string, user: ServerUser | null): void {
  if (user === null || statSync(folder).uid === user.uid) return;
  try {
    execFileSync('chown', ['-Rh', `${user.uid}:${user.gid}`, folder], { stdio: 'ignore' });
  } catch {
    throw rootError(`this root may not give ${folder} to user ${user.uid}`);
  }
}

function rootError(reason: string): EmbeddedDatabaseError {
  const problem = `PostgreSQL does not run as root, and ${reason}`;
  return new EmbeddedDatabaseError(problem, 'start the service as an ordinary user');
}
