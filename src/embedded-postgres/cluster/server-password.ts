import { execFile } from 'node:child_process';
import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsyncSync,
  lchownSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { userInfo } from 'node:os';
import { promisify } from 'node:util';
import type { ServerFiles } from '../server/server-files.js';

/** PostgreSQL's default. */
const SCRAM_ITERATIONS = 4096;

/**
 * Returns the superuser's password, or undefined where there is none: the first release's servers on Unix have none until
 * they are started again.
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
 * Unix: creates the superuser's password if there is none, in a file that only the owner of DATA_DIR can read. When root
 * owns DATA_DIR, that is not the user that runs the server.
 */
export function ensurePassword(files: ServerFiles): void {
  if (existsSync(files.password)) return;
  const made = `${files.password}.new-${process.pid}`;
  rmSync(made, { force: true });
  const file = openSync(made, 'wx', 0o600);
  writeFileSync(file, createPassword());
  fsyncSync(file);
  closeSync(file);
  const { uid, gid } = statSync(files.dataDir);
  if (process.getuid?.() === 0) lchownSync(made, uid, gid);
  try {
    // Unlike a rename, this keeps the password of a process that was faster.
    linkSync(made, files.password);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(made, { force: true });
  }
}

/**
 * Windows, where the server listens on the loopback address: the path of a file with the superuser's password, which only
 * its owner can read.
 */
export async function preparePassword(files: ServerFiles): Promise<string> {
  if (!existsSync(files.password)) {
    const made = `${files.password}.new-${process.pid}`;
    writeFileSync(made, '', { mode: 0o600 });
    await promisify(execFile)('icacls', [
      made,
      '/inheritance:r',
      '/grant:r',
      `${userInfo().username}:F`,
    ]);
    writeFileSync(made, createPassword());
    renameSync(made, files.password);
  }
  return files.password;
}

/**
 * Returns what the server stores instead of the password (RFC 5803, section 3): statements with the password itself could
 * end up in the server's log.
 */
export function scramVerifier(password: string): string {
  const salt = randomBytes(16);
  const salted = pbkdf2Sync(password, salt, SCRAM_ITERATIONS, 32, 'sha256');
  const keyed = (text: string): Buffer => createHmac('sha256', salted).update(text).digest();
  const storedKey = createHash('sha256').update(keyed('Client Key')).digest('base64');
  const serverKey = keyed('Server Key').toString('base64');
  return `SCRAM-SHA-256$${SCRAM_ITERATIONS}:${salt.toString('base64')}$${storedKey}:${serverKey}`;
}

/** Without characters that URLs, shells or SASLprep change. */
function createPassword(): string {
  return randomBytes(24).toString('base64url');
}
