import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/** Creates a folder that is renamed to `path` when it is complete. Removes those of killed processes. */
export function createTemporary(path: string): string {
  removeTemporary(path);
  return mkdtempSync(`${prefixOf(path)}${process.pid}-`);
}

/** Removes the temporary folders of killed processes for `path`. */
export function removeTemporary(path: string): void {
  const prefix = basename(prefixOf(path));
  for (const name of readdirSync(dirname(path))) {
    const creator = name.startsWith(prefix) ? Number.parseInt(name.slice(prefix.length), 10) : NaN;
    if (Number.isNaN(creator) || isAlive(creator)) continue;
    try {
      rmSync(join(dirname(path), name), { recursive: true, force: true, maxRetries: 3 });
    } catch {
      // Its initdb is still writing. The next start removes the folder.
    }
  }
}

function prefixOf(path: string): string {
  return `${path}.new-`;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
