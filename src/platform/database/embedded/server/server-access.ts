import { createHash } from 'node:crypto';
import { lchownSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ServerFiles } from './server-files.js';
import { ensurePassword, readPassword, scramVerifier } from '../cluster/server-password.js';
import { SUPERUSER, type ServerSession } from './server-session.js';

/**
 * The content until the superuser has its password, as in a new cluster and in those of the first
 * release. Only the server's user and root can open the socket.
 */
const OPEN = `# Written by the service, which replaces it as soon as the server runs.\nlocal all ${SUPERUSER} trust\n`;

/** The file in the cluster's folder that says who may connect. */
export const ACCESS_FILE = 'pg_hba.conf';

/**
 * Before a start, on Unix: ensures that connecting needs the password. If the superuser does not
 * have this password yet, the first process that connects must call `completeAccess`.
 */
export function prepareAccess(files: ServerFiles): void {
  ensurePassword(files);
  if (readAccessFile(files) !== closedTo(readPassword(files) ?? '')) writeAccessFile(files, OPEN);
}

/** Sets the password of the superuser and requires it, if this has not been done. */
export async function completeAccess(files: ServerFiles, session: ServerSession): Promise<void> {
  const password = readPassword(files);
  if (password === undefined || readAccessFile(files) !== OPEN) return;
  await session.setPassword(scramVerifier(password));
  writeAccessFile(files, closedTo(password));
  await session.reloadConfiguration();
}

/** The digest identifies the password: the files may be restored from different backups. */
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
  const created = `${path}.new-${process.pid}`;
  rmSync(created, { force: true });
  // 'wx' follows no link: the folder's owner must not choose where root writes.
  writeFileSync(created, text, { flag: 'wx', mode: 0o600 });
  const { uid, gid } = statSync(files.cluster);
  if (process.getuid?.() === 0) lchownSync(created, uid, gid);
  renameSync(created, path);
}
