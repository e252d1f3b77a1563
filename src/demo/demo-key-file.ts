import { readFile, rm, writeFile } from 'node:fs/promises';

const OWNER_ONLY = 0o600;

/**
 * Stores the demo API key in place of an earlier one. Only the user who runs the service can read
 * the file. The key is on the disk when this resolves.
 */
export async function writeKeyFile(path: string, key: string): Promise<void> {
  await rm(path, { force: true });
  // 'wx' creates the file: an existing file or link could belong to another user.
  await writeFile(path, `${key}\n`, { mode: OWNER_ONLY, flag: 'wx', flush: true });
}

/** Returns the stored API key, or null if the file cannot be read. */
export async function readKeyFile(path: string): Promise<string | null> {
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch {
    return null;
  }
}
