import { linkSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';

/**
 * postmaster.pid, with which a server claims its cluster; see PostgreSQL's
 * src/include/utils/pidfile.h.
 */
export interface PostmasterFile {
  /** As read, to tell whether the file is still the same one. */
  readonly text: string;
  /** NaN in a file that its server has not yet filled, or was kept from filling. */
  readonly pid: number;
  readonly port: number;
  readonly socketDirectory: string;
  readonly status: 'starting' | 'ready' | 'stopping';
  readonly ageMs: number;
}

export function readPostmasterFile(cluster: string): PostmasterFile | null {
  const path = join(cluster, 'postmaster.pid');
  try {
    const text = readFileSync(path, 'utf8');
    const lines = text.split('\n').map((line) => line.trim());
    const status = lines[7];
    return {
      text,
      pid: Number.parseInt(lines[0] ?? '', 10),
      port: Number.parseInt(lines[3] ?? '', 10),
      socketDirectory: lines[4] ?? '',
      status: status === 'ready' || status === 'stopping' ? status : 'starting',
      ageMs: Date.now() - statSync(path).mtimeMs,
    };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/**
 * Removes what a dead server left. PostgreSQL does so itself, but not where the process number is
 * in use again, nor for an empty file. Two processes may do this at once while a third one's server
 * starts: hence the rename, which only one wins, and the second look at what was moved.
 */
export function removePostmasterFile(cluster: string, stale: PostmasterFile): void {
  const path = join(cluster, 'postmaster.pid');
  const aside = `${path}.stale-${process.pid}`;
  if (readPostmasterFile(cluster)?.text !== stale.text) return;
  try {
    renameSync(path, aside);
    if (readFileSync(aside, 'utf8') !== stale.text) linkSync(aside, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  } finally {
    rmSync(aside, { force: true });
  }
}
