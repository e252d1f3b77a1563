import pg from 'pg';
import type { DatabaseSettings } from '../config/database-settings.js';

/** The database that the settings select, as operators see it. */
export interface DatabaseTarget {
  readonly embedded: boolean;
  readonly name: string;
  /** On one line, without the password: `pets on db.example.org:5432`. */
  readonly description: string;
}

/** Returns the database that the settings select, whether it exists or not. */
export function databaseTarget({ directUrl, dataDir }: DatabaseSettings): DatabaseTarget {
  if (directUrl === undefined) {
    return { embedded: true, name: 'pets', description: `embedded in ${dataDir}` };
  }
  // pg fills in the parts that the URL omits, from PG… variables or defaults.
  const { host, port, database = '' } = new pg.Client({ connectionString: directUrl });
  return { embedded: false, name: database, description: `${database} on ${host}:${port}` };
}
