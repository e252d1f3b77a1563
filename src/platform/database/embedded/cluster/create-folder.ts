import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Creates a folder and its missing parent folders. Does not use Node's option `recursive`, which
 * never returns if the system reports ENOENT for a folder that it cannot create, as /proc does.
 *
 * @param path absolute
 * @throws the system's error for the first folder that cannot be created
 */
export function createFolder(path: string): void {
  const missing: string[] = [];
  for (let folder = path; !isFolder(folder); folder = dirname(folder)) {
    missing.unshift(folder);
    if (folder === dirname(folder)) break;
  }
  for (const folder of missing) {
    try {
      mkdirSync(folder);
    } catch (error) {
      // Another process has created it in the meantime.
      if (!isFolder(folder)) throw error;
    }
  }
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
