import type { ClientConfig } from 'pg';
import type { DatabaseSettings } from '../config/database-settings.js';
import type { EmbeddedOptions } from './embedded/embedded-postgres.js';

/** Where the database is, and how to stop it. */
export abstract class DatabaseLocation {
  /** For requests; may lead through a connection pooler. */
  abstract readonly requests: ClientConfig;
  /** Bypasses the connection pooler: for migrations and advisory locks. */
  abstract readonly direct: ClientConfig;
  abstract readonly embedded: boolean;
  /** Stops the embedded server if this process started it. Does nothing for other servers. */
  abstract close(): Promise<void>;
}

/** Whether there is a database to connect to. True for every DATABASE_URL. */
export async function databaseExists({ url, dataDir }: DatabaseSettings): Promise<boolean> {
  if (url !== undefined) return true;
  const { hasCluster } = await import('./embedded/cluster.js');
  return hasCluster(dataDir);
}

/**
 * Returns the database of DATABASE_URL, or starts the embedded one in `dataDir`.
 *
 * @param embedded see EmbeddedOptions
 * @throws EmbeddedDatabaseError with a message of one line that says what to do; the reason of the
 *   signal
 */
export async function locateDatabase(
  settings: DatabaseSettings,
  use: EmbeddedOptions['use'],
  embedded: Pick<EmbeddedOptions, 'signal' | 'onWait'> = {},
): Promise<DatabaseLocation> {
  if (settings.url !== undefined) {
    return {
      requests: { connectionString: settings.url },
      direct: { connectionString: settings.directUrl },
      embedded: false,
      close: () => Promise.resolve(),
    };
  }
  // Loaded on demand: DATABASE_URL needs none of it.
  const { openEmbeddedDatabase } = await import('./embedded/embedded-postgres.js');
  const database = await openEmbeddedDatabase({ dataDir: settings.dataDir, use, ...embedded });
  const { connection } = database;
  const close = () => database.close();
  return { requests: connection, direct: connection, embedded: true, close };
}
