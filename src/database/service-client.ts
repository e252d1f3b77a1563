import { hash } from 'node:crypto';
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
 * the next question would wait behind this one.
 */
export class ServiceClient extends pg.Client {
  protected readonly preparesStatements: boolean = true;

  // pg declares query with a dozen overloads; all of them pass through here.
  override query = ((config: unknown, values?: unknown, callback?: unknown): unknown => {
    const named =
      this.preparesStatements &&
      typeof config === 'string' &&
      Array.isArray(values) &&
      values.length > 0
        ? { name: statementName(config), text: config, values: values as unknown[] }
        : undefined;
    const result = named ? this.send(named, callback) : this.send(config, values, callback);
    return result instanceof Promise
      ? result.catch((error: unknown) => this.giveUp(error))
      : result;
  }) as pg.Client['query'];

  private send(...query: unknown[]): unknown {
    return (pg.Client.prototype.query as Query).apply(this, query);
  }

  /** Breaks the connection, whatever it is at: the server rolls back, and the pool makes another one. */
  abandon(): void {
    (this as unknown as ClientInside).connection.stream.destroy();
  }

  private giveUp(error: unknown): never {
    if (error instanceof Error && error.message === 'Query read timeout') this.abandon();
    throw error;
  }
}

/**
 * A connection that may lead through a pooler: the server's end of it changes between statements,
 * and what was prepared on one end is not there, or is another process's, on the next.
 */
export class PooledServiceClient extends ServiceClient {
  protected override readonly preparesStatements = false;
}

/** Made of the text: no process means another statement by the same name. */
function statementName(text: string): string | undefined {
  let name = statementNames.get(text);
  if (name === undefined && statementNames.size < MAX_NAMED_STATEMENTS) {
    name = hash('sha1', text, 'base64url');
    statementNames.set(text, name);
  }
  return name;
}

type ValueReader = (text: string) => unknown;

/** How values of the database are read: int8 as bigint, exact; all else as pg does. */
export const columnTypes: pg.CustomTypesConfig = {
  getTypeParser: (type, format): ValueReader =>
    type === pg.types.builtins.INT8 && format !== 'binary'
      ? BigInt
      : (pg.types.getTypeParser(type, format) as ValueReader),
};
