import { open, readFile, rename, rm } from 'node:fs/promises';

const OWNER_ONLY = 0o600;

/**
 * Stores the demo API key in place of an earlier one. Only the user who runs the service can read
 * the file. The write is atomic, and the key is on the disk when this resolves.
 */
export async function writeKeyFile(path: string, key: string): Promise<void> {
  const draft = `${path}.new`;
  // An interrupted start may have left a draft.
  await rm(draft, { force: true });
  // 'wx' creates the file: an existing file or link could belong to another user.
  const file = await open(draft, 'wx', OWNER_ONLY);
  try {
    await file.writeFile(`${key}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(draft, path);
}

/** Returns the stored API key, or null if the file cannot be read. */
export async function readKeyFile(path: string): Promise<string | null> {
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch {
    return null;
  }
}
