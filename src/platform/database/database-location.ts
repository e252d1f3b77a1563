import pg from 'pg';
import type {
  ConnectionSettings,
  DatabaseSettings,
  ProcessKind,
} from '../config/database-settings.js';

/** Where the database is, and how to stop it. */
export abstract class DatabaseLocation {
  /** A command uses the database without what belongs to the service: jobs, events, demo data. */
  abstract readonly processKind: ProcessKind;
  abstract readonly connection: ConnectionSettings;
  abstract readonly embedded: boolean;
  abstract readonly name: string;
  /** For operators, on one line, without the password: `store on db.example.org:5432`. */
  abstract readonly description: string;
  /** Stops the embedded server if this process owns it. Does nothing for other servers. */
  abstract close(): Promise<void>;
}

/**
 * Returns the database of DATABASE_URL, or starts the embedded one in `dataDir`.
 *
 * @param signal ends the start of the embedded one
 * @throws StartError with a message of one line that says what to do; the reason of the signal
 */
export async function locateDatabase(
  settings: DatabaseSettings,
  processKind: ProcessKind,
  signal?: AbortSignal,
): Promise<DatabaseLocation> {
  const { connection, dataDir } = settings;
  if (connection !== undefined) {
    // pg fills in the parts that are missing, from PG… variables or defaults.
    const { host, port, database: name = '' } = new pg.Client(connection);
    const description = `${name} on ${host}:${port}`;
    const close = () => Promise.resolve();
    return { processKind, connection, embedded: false, name, description, close };
  }
  // Loaded on demand: DATABASE_URL needs none of it.
  const { openEmbeddedDatabase } = await import('./embedded/embedded-postgres.js');
  const database = await openEmbeddedDatabase(settings, processKind, signal);
  return {
    processKind,
    connection: database.connection,
    embedded: true,
    name: settings.name,
    description: `embedded in ${dataDir}`,
    close: () => database.close(),
  };
}
