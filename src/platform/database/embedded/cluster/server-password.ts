import { execFile } from 'node:child_process';
import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto';
import {
  existsSync,
  lchownSync,
  linkSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { userInfo } from 'node:os';
import { promisify } from 'node:util';
import type { ServerFiles } from '../server/server-files.js';

/** The default of PostgreSQL. */
const SCRAM_ITERATIONS = 4096;

/**
 * Returns the password of the superuser, or undefined if there is none: servers of the first
 * release on Unix have none until their next start.
 */
export function readPassword(files: ServerFiles): string | undefined {
  try {
    return readFileSync(files.password, 'utf8').trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/**
 * Unix: creates the password of the superuser if there is none, in a file that only the owner of
 * DATA_DIR can read. If root owns DATA_DIR, the user that runs the server cannot read it.
 */
export function ensurePassword(files: ServerFiles): void {
  if (existsSync(files.password)) return;
  const created = `${files.password}.new-${process.pid}`;
  rmSync(created, { force: true });
  writeFileSync(created, createPassword(), { flag: 'wx', mode: 0o600, flush: true });
  const { uid, gid } = statSync(files.dataDir);
  if (process.getuid?.() === 0) lchownSync(created, uid, gid);
  try {
    // Unlike a rename, a link does not replace the password that another process has just created.
    linkSync(created, files.password);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(created, { force: true });
  }
}

/**
 * Windows, where the server listens on the loopback address: creates the password of the superuser
 * if there is none. Returns the path of its file, which only its owner can read.
 */
export async function preparePassword(files: ServerFiles): Promise<string> {
  if (!existsSync(files.password)) {
    const created = `${files.password}.new-${process.pid}`;
    writeFileSync(created, '', { mode: 0o600 });
    const rights = ['/inheritance:r', '/grant:r', `${userInfo().username}:F`];
    await promisify(execFile)('icacls', [created, ...rights]);
    writeFileSync(created, createPassword());
    renameSync(created, files.password);
  }
  return files.password;
}

/**
 * Returns the value that the server stores for a password (RFC 5803, section 3). A statement with
 * the password itself could appear in the log of the server.
 */
export function scramVerifier(password: string): string {
  const salt = randomBytes(16);
  const salted = pbkdf2Sync(password, salt, SCRAM_ITERATIONS, 32, 'sha256');
  const keyed = (text: string): Buffer => createHmac('sha256', salted).update(text).digest();
  const storedKey = createHash('sha256').update(keyed('Client Key')).digest('base64');
  const serverKey = keyed('Server Key').toString('base64');
  return `SCRAM-SHA-256$${SCRAM_ITERATIONS}:${salt.toString('base64')}$${storedKey}:${serverKey}`;
}

/** The password has no characters that URLs, shells or SASLprep change. */
function createPassword(): string {
  return randomBytes(24).toString('base64url');
}
