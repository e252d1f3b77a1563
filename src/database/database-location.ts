import type { ClientConfig } from 'pg';
import type { DatabaseSettings } from '../config/database-settings.js';
import type { EmbeddedOptions } from '../embedded-postgres/embedded-postgres.js';

/** Where the database is, and who closes it. */
export interface DatabaseLocation {
  /** For requests; may lead through a pooler. */
  readonly pooled: ClientConfig;
  /** Straight to the server: migrations, advisory locks, LISTEN. */
  readonly direct: ClientConfig;
  readonly embedded: boolean;
  /** Stops the embedded server when nobody else uses it; nothing to do for one of its own. */
  close(): Promise<void>;
}

/** Whether there is a database to connect to; whether a server elsewhere has it, only a connection shows. */
export async function databaseExists({ url, dataDir }: DatabaseSettings): Promise<boolean> {
  if (url !== undefined) return true;
  const { hasEmbeddedDatabase } = await import('../embedded-postgres/embedded-postgres.js');
  return hasEmbeddedDatabase(dataDir);
}

/**
 * Returns the database that the settings name, or starts the embedded one in `dataDir`.
 *
 * @param use whether the caller is the service (one per folder) or a command beside it
 * @throws EmbeddedDatabaseError with one line that says what to do
 */
export async function locateDatabase(
  settings: DatabaseSettings,
  use: EmbeddedOptions['use'],
): Promise<DatabaseLocation> {
  if (settings.url !== undefined) {
    return {
      pooled: { connectionString: settings.url },
      direct: { connectionString: settings.directUrl },
      embedded: false,
      close: () => Promise.resolve(),
    };
  }
  // Loaded only now: with a database of one's own none of it is needed.
  const { openEmbeddedDatabase } = await import('../embedded-postgres/embedded-postgres.js');
  const database = await openEmbeddedDatabase({ dataDir: settings.dataDir, use });
  // Said here, or PGSSLMODE of the environment would have a say.
  const connection = { ...database.connection, ssl: false };
  return {
    pooled: connection,
    direct: connection,
    embedded: true,
    close: () => database.close(),
  };
}
