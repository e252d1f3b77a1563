import { Client, type ClientConfig } from 'pg';

/** The advisory lock of the server's owner: 'pets' in ASCII, and the number of earlier releases. */
const LOCK = [0x70657473, 2];

const CONNECT_TIMEOUT_MS = 5000;
const QUERY_TIMEOUT_MS = 10_000;

/** A connection that can hold the owner's lock. After kill -9, the kernel closes it. */
export class Session {
  private constructor(private readonly client: Client) {}

  /** @param name what the owner's lock shows to others, at most 63 bytes */
  static async open(server: ClientConfig, name: string): Promise<Session> {
    const client = new Client({
      ...server,
      // Not the service's database, so that it can be dropped.
      database: 'postgres',
      application_name: name,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      query_timeout: QUERY_TIMEOUT_MS,
    });
    client.on('error', () => undefined);
    await client.connect();
    return new Session(client);
  }

  /** Tries to become the owner. Returns the name of the owner's session if it is another one. */
  async tryOwn(): Promise<{ isOwner: boolean; owner: string | null }> {
    const { rows } = await this.client.query<{ isOwner: boolean; owner: string | null }>(
      `select pg_try_advisory_lock($1, $2) as "isOwner", (
         select application_name from pg_locks join pg_stat_activity using (pid)
          where locktype = 'advisory' and classid = $1 and objid = $2 and granted limit 1
       ) as owner`,
      LOCK,
    );
    return rows[0] ?? { isOwner: false, owner: null };
  }

  async ensureDatabase(name: string): Promise<void> {
    try {
      await this.client.query(`create database "${name}"`);
    } catch (error) {
      // It exists (42P04), or another process creates it (23505).
      if (!hasCode(error, '42P04', '23505')) throw error;
    }
  }

  /** Calls back when the connection ends, for whatever reason. */
  onEnd(callback: () => void): void {
    this.client.once('end', callback);
  }

  close(): Promise<void> {
    return this.client.end().catch(() => undefined);
  }
}

/** Whether nobody listens. */
export function isAbsent(error: unknown): boolean {
  return hasCode(error, 'ENOENT', 'ECONNREFUSED');
}

/** Whether the server is starting, stopping or full, or the connection broke. */
export function isTemporary(error: unknown): boolean {
  const isLost = /^Connection terminated|is not queryable/.test((error as Error).message);
  return isLost || hasCode(error, '57P01', '57P03', '53300', 'ECONNRESET', 'EPIPE');
}

function hasCode(error: unknown, ...codes: string[]): boolean {
  return codes.includes((error as NodeJS.ErrnoException).code ?? '');
}
