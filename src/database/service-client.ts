import type { Duplex } from 'node:stream';
import pg from 'pg';

/** Prepared statements a connection may hold: generated SQL in many shapes must not fill the server's memory. */
const MAX_NAMED_STATEMENTS = 256;

const statementNames = new Map<string, string>();

interface ClientInside {
  connection: { stream: Duplex };
}

type Query = (...query: unknown[]) => unknown;

/**
 * A connection as the service uses it: statements with parameters are prepared once per connection
 * (a third less CPU here and in the server), and one that does not answer in time is given up whole:
 * it would answer the next question with the answer to this one, late.
 */
export class ServiceClient extends pg.Client {
  // pg declares query with a dozen overloads; all of them pass through here.
  override query = ((config: unknown, values?: unknown, callback?: unknown): unknown => {
    const named =
      typeof config === 'string' && Array.isArray(values) && values.length > 0
        ? { name: statementName(config), text: config, values: values as unknown[] }
        : undefined;
    const result = (
      named ? this.send(named, callback) : this.send(config, values, callback)
    ) as unknown;
    return result instanceof Promise ? result.catch((error: unknown) => this.giveUp(error)) : result;
  }) as pg.Client['query'];

  private send(...query: unknown[]): unknown {
    return (pg.Client.prototype.query as Query).apply(this, query);
  }

  private giveUp(error: unknown): never {
    if (error instanceof Error && error.message === 'Query read timeout') {
      (this as unknown as ClientInside).connection.stream.destroy();
    }
    throw error;
  }
}

function statementName(text: string): string | undefined {
  let name = statementNames.get(text);
  if (name === undefined && statementNames.size < MAX_NAMED_STATEMENTS) {
    name = `s${statementNames.size + 1}`;
    statementNames.set(text, name);
  }
  return name;
}

const INT8_OID = 20;

/** How values of the database are read: int8 as bigint, exact; all else as pg does. */
export const columnTypes: pg.CustomTypesConfig = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === INT8_OID && format !== 'binary' ? BigInt : pg.types.getTypeParser(oid, format as 'text'),
};
