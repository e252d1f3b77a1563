import pg, { type ClientConfig } from 'pg';

/** A database of the settings, as operators see it. */
export interface DatabaseTarget {
  readonly embedded: boolean;
  readonly name: string;
  /** On one line, without the password: `pets on db.example.org:5432`. */
  readonly description: string;
}

/** Returns the database of the connection, or without one the embedded database in `dataDir`. */
export function databaseTarget(
  connection: ClientConfig | undefined,
  dataDir: string,
): DatabaseTarget {
  if (connection === undefined) {
    return { embedded: true, name: 'pets', description: `embedded in ${dataDir}` };
  }
  // pg fills in the parts that are missing, from PG… variables or defaults.
  const { host, port, database = '' } = new pg.Client(connection);
  return { embedded: false, name: database, description: `${database} on ${host}:${port}` };
}
