import { readdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { Attachment, type ServerUse } from './server/attachment.js';
import { findBinaries } from './installation/binaries.js';
import { ensureCluster } from './cluster/cluster.js';
import { EmbeddedDatabaseError } from './embedded-database-error.js';
import { openDataDir, serverFiles } from './server/server-files.js';
import { chooseServerUser } from './cluster/server-user.js';

export { EmbeddedDatabaseError };

const DEFAULT_START_TIMEOUT_MS = 60_000;

export interface EmbeddedOptions {
  /** Created if missing. A relative path starts at the working directory. */
  dataDir: string;
  use: ServerUse;
  /** How long to wait for the server, including initdb and recovery. */
  startTimeoutMs?: number;
  /** Where root keeps a copy of the binaries. By default a folder in /var/cache. */
  sharedFolder?: string;
}

/** Whether the folder holds a database. True if this process may not read it. Creates nothing. */
export function hasEmbeddedDatabase(dataDir: string): boolean {
  try {
    return readdirSync(serverFiles(resolve(dataDir)).cluster).length > 0;
  } catch (error) {
    return !['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '');
  }
}

/**
 * Attaches to the server of the folder, and starts it if necessary. The server runs until `close`,
 * or until this process ends. After a crash, the server is started again.
 *
 * @throws EmbeddedDatabaseError
 */
export async function openEmbeddedDatabase(options: EmbeddedOptions): Promise<Attachment> {
  try {
    const { use, startTimeoutMs = DEFAULT_START_TIMEOUT_MS } = options;
    const files = openDataDir(options.dataDir);
    const user = chooseServerUser(files);
    const binaries = findBinaries(files, user, options.sharedFolder);
    await ensureCluster(files, binaries, user, startTimeoutMs);
    return await Attachment.open({ files, binaries, user, use, startTimeoutMs });
  } catch (error) {
    if (error instanceof EmbeddedDatabaseError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    const isForbidden = (error as NodeJS.ErrnoException).code === 'EACCES';
    throw new EmbeddedDatabaseError(
      `the embedded database in ${options.dataDir} cannot be used (${reason})`,
      isForbidden ? 'run this as the user who owns the folder' : 'choose another DATA_DIR',
      { cause: error },
    );
  }
}
