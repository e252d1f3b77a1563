import { createHash } from 'node:crypto';
import { lchownSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ServerFiles } from './server-files.js';
import { ensurePassword, readPassword, scramVerifier } from '../cluster/server-password.js';
import { SUPERUSER, type ServerSession } from './server-session.js';

/**
 * Until the superuser has its password, as in a new cluster and in those of the first release. Only the server's user and
 * root can open the socket.
 */
const OPEN = `# Written by the service, which replaces it as soon as the server runs.\nlocal all ${SUPERUSER} trust\n`;

/** PostgreSQL's file of who may connect, in the cluster's folder. */
export const ACCESS_FILE = 'pg_hba.conf';

/**
 * Before a start, on Unix: makes sure that the server lets in only who knows the password. Where the superuser does not
 * have this password yet, the first process that connects has to call `completeAccess`.
 */
export function prepareAccess(files: ServerFiles): void {
  ensurePassword(files);
  if (readAccessFile(files) !== closedTo(readPassword(files) ?? '')) writeAccessFile(files, OPEN);
}

/** Gives the superuser its password and closes the server to those who do not know it, where this is still to be done. */
export async function completeAccess(files: ServerFiles, session: ServerSession): Promise<void> {
  const password = readPassword(files);
  if (password === undefined || readAccessFile(files) !== OPEN) return;
  await session.setPassword(scramVerifier(password));
  writeAccessFile(files, closedTo(password));
  await session.reloadConfiguration();
}

/** The digest shows whether the superuser has this password, or another one: files may be restored one by one. */
function closedTo(password: string): string {
  const digest = createHash('sha256').update(password).digest('hex');
  return `# Written by the service at each start, for the password ${digest}.\nlocal all all scram-sha-256\n`;
}

function readAccessFile(files: ServerFiles): string | undefined {
  try {
    return readFileSync(join(files.cluster, ACCESS_FILE), 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

function writeAccessFile(files: ServerFiles, text: string): void {
  const path = join(files.cluster, ACCESS_FILE);
  const made = `${path}.new-${process.pid}`;
  rmSync(made, { force: true });
  // Not through a link: root must not write where the folder's owner points.
  writeFileSync(made, text, { flag: 'wx', mode: 0o600 });
  const { uid, gid } = statSync(files.cluster);
  if (process.getuid?.() === 0) lchownSync(made, uid, gid);
  renameSync(made, path);
}
