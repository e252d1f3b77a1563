import { readdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { Attachment } from './server/attachment.js';
import { findBinaries } from './installation/binaries.js';
import { ensureCluster } from './cluster/cluster.js';
import type { EmbeddedConnection, EmbeddedDatabase, EmbeddedOptions } from './embedded-database.js';
import { EmbeddedDatabaseError } from './embedded-database-error.js';
import { openDataDir, serverFiles } from './server/server-files.js';
import { chooseServerUser } from './cluster/server-user.js';

export { EmbeddedDatabaseError };
export type { EmbeddedConnection, EmbeddedDatabase, EmbeddedOptions };

const DEFAULT_START_TIMEOUT_MS = 60_000;

/**
 * Whether the folder holds a database. Creates nothing. Returns true if this process may not read
 * the folder.
 */
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
export async function openEmbeddedDatabase(options: EmbeddedOptions): Promise<EmbeddedDatabase> {
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
