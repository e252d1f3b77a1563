import { Client, type QueryResultRow } from 'pg';
import { readProjectFile } from '../stack/compose-file.js';

/** The script that creates the roles of a store. */
export const ROLES = readProjectFile('deploy/postgres/roles.sql');

/** Returns how to connect to the databases of a server. @param urlOf returns its address, with its superuser */
export function connectionsTo(urlOf: () => string) {
  const addressOf = (database: string, role?: string): string => {
    const url = new URL(urlOf());
    url.pathname = `/${database}`;
    if (role !== undefined) url.username = role;
    return url.href;
  };
  /** Runs statements on a connection of its own, as the superuser unless a role is given. */
  const run = async <Row extends QueryResultRow>(
    database: string,
    sql: string,
    role?: string,
  ): Promise<Row[]> => {
    const client = new Client({ connectionString: addressOf(database, role) });
    await client.connect();
    try {
      return (await client.query<Row>(sql)).rows;
    } finally {
      await client.end();
    }
  };
  return { addressOf, run };
}
