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

/** Whether the folder holds a database. Creates nothing. True when this process may not look into the folder. */
export function hasEmbeddedDatabase(dataDir: string): boolean {
  try {
    return readdirSync(serverFiles(resolve(dataDir)).cluster).length > 0;
  } catch (error) {
    return !['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '');
  }
}

/**
 * Attaches to the server that runs on the folder, or starts it, and keeps it for as long as this
 * process lives or until `close`. After a crash of the server it is started again.
 * @throws EmbeddedDatabaseError whose message is one line that says what to do
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
      isForbidden ? 'run this as the user who owns it' : 'choose another DATA_DIR',
      { cause: error },
    );
  }
}
