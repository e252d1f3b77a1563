import { chmodSync, existsSync, realpathSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createFolder } from '../cluster/create-folder.js';

/**
 * Where the embedded server keeps what is its own. All paths are absolute and without symbolic
 * links in `dataDir`.
 */
export interface ServerFiles {
  readonly dataDir: string;
  /** PostgreSQL's data directory. */
  readonly cluster: string;
  readonly log: string;
  /** The superuser's password. */
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

/** Makes the folder when it is missing. A relative path counts from the working directory. */
export function openDataDir(dataDir: string): ServerFiles {
  const path = resolve(dataDir);
  if (!existsSync(path)) {
    createFolder(path);
    // Started by root, the server runs as another user, who must pass through but not look around.
    chmodSync(path, process.getuid?.() === 0 ? 0o711 : 0o700);
  }
  return serverFiles(realpathSync(path));
}
