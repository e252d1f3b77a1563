import pg from 'pg';

/** A database of the settings, as operators see it. */
export interface DatabaseTarget {
  readonly embedded: boolean;
  readonly name: string;
  /** On one line, without the password: `pets on db.example.org:5432`. */
  readonly description: string;
}

/** Returns the database at the address, or without one the embedded database in `dataDir`. */
export function databaseTarget(url: string | undefined, dataDir: string): DatabaseTarget {
  if (url === undefined) {
    return { embedded: true, name: 'pets', description: `embedded in ${dataDir}` };
  }
  // pg fills in the parts that the URL omits, from PG… variables or defaults.
  const { host, port, database = '' } = new pg.Client({ connectionString: url });
  return { embedded: false, name: database, description: `${database} on ${host}:${port}` };
}
