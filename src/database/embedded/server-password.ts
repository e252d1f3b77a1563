import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, renameSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { promisify } from 'node:util';
import type { ServerFiles } from './server-files.js';

/**
 * Windows, where the server listens on the loopback address: the superuser's password, in a file
 * that its owner alone may read.
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
    writeFileSync(made, randomBytes(24).toString('base64url'));
    renameSync(made, files.password);
  }
  return files.password;
}
