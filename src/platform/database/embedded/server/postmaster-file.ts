import { linkSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** postmaster.pid, by which a server claims its cluster (PostgreSQL's utils/pidfile.h). */
export interface PostmasterFile {
  /** The content, to compare with the content of a later read. */
  readonly text: string;
  /** NaN while the file is empty. */
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
 * Removes the file of a dead server. PostgreSQL does this itself, except if another process has the
 * same number now, or the file is empty. Several processes may do this at once while another one
 * starts a server: only one of them renames the file, and it then checks again what it has renamed.
 */
export function removePostmasterFile(cluster: string, stale: PostmasterFile): void {
  const path = join(cluster, 'postmaster.pid');
  const renamed = `${path}.stale-${process.pid}`;
  if (readPostmasterFile(cluster)?.text !== stale.text) return;
  try {
    renameSync(path, renamed);
    if (readFileSync(renamed, 'utf8') !== stale.text) linkSync(renamed, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  } finally {
    rmSync(renamed, { force: true });
  }
}
