import { chmodSync, existsSync, realpathSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createFolder } from '../cluster/create-folder.js';

/** Absolute paths of the embedded server's files. `dataDir` has no symbolic links. */
export interface ServerFiles {
  readonly dataDir: string;
  /** PostgreSQL's data directory. */
  readonly cluster: string;
  readonly log: string;
  /** The file with the password of the superuser. */
  readonly password: string;
}

export function serverFiles(dataDir: string): ServerFiles {
  return {
    dataDir,
    cluster: join(dataDir, 'postgres'),
    log: join(dataDir, 'postgres.log'),
    password: join(dataDir, 'postgres.password'),
  };
}

/** Creates the folder if it is missing. A relative path starts at the working directory. */
export function openDataDir(dataDir: string): ServerFiles {
  const path = resolve(dataDir);
  if (!existsSync(path)) {
    createFolder(path);
    // The user that runs the server for root must reach the cluster, but not list this folder.
    chmodSync(path, process.getuid?.() === 0 ? 0o711 : 0o700);
  }
  return serverFiles(realpathSync(path));
}
