import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/**
 * Creates a folder in which something is prepared that is then renamed to `path`, so that half of it is never used.
 * Folders that processes left behind when they were killed are removed.
 */
export function makeUnfinished(path: string): string {
  removeUnfinished(path);
  return mkdtempSync(`${prefixOf(path)}${process.pid}-`);
}

/** Removes what killed processes were preparing for `path`. */
export function removeUnfinished(path: string): void {
  const prefix = basename(prefixOf(path));
  for (const name of readdirSync(dirname(path))) {
    const maker = name.startsWith(prefix) ? Number.parseInt(name.slice(prefix.length), 10) : NaN;
    if (Number.isNaN(maker) || isAlive(maker)) continue;
    try {
      rmSync(join(dirname(path), name), { recursive: true, force: true, maxRetries: 3 });
    } catch {
      // Its initdb is still writing: the next start removes it.
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
