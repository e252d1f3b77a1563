import { Client, type QueryResultRow } from 'pg';
import type { ServerFiles } from './server-files.js';
import { readPassword } from '../cluster/server-password.js';
import type { RunningServer } from './server-state.js';

export const SUPERUSER = 'pets';

/**
 * Locks are taken here, so that the service's own database can be dropped and made anew, and its
 * own locks are its own.
 */
const MAINTENANCE_DATABASE = 'postgres';

/** First key of the advisory locks: 'pets' in ASCII. */
const LOCK_CLASS = 0x70657473;
/** Every user of the server holds the first one shared; who holds it alone may stop the server. */
const LOCKS = { use: 1, service: 2, password: 3 } as const;

const CONNECT_TIMEOUT_MS = 5000;
const QUERY_TIMEOUT_MS = 10_000;
const END_TIMEOUT_MS = 2000;

/**
 * A connection that holds locks for as long as its process lives: the kernel closes it, and so
 * frees them, even after kill -9.
 */
export class ServerSession {
  private lost: () => void = () => undefined;
  private ended = false;

  private constructor(private readonly client: Client) {
    client.on('error', () => undefined);
    client.on('end', () => {
      this.ended = true;
      this.lost();
    });
  }

  /** @param name tells who it is, in pg_stat_activity; at most 63 bytes */
  static async open(
    files: ServerFiles,
    server: RunningServer,
    name: string,
  ): Promise<ServerSession> {
    const client = new Client({
      host: server.host,
      port: server.port,
      user: SUPERUSER,
      password: readPassword(files) ?? '',
      database: MAINTENANCE_DATABASE,
      application_name: name,
      ssl: false,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      query_timeout: QUERY_TIMEOUT_MS,
    });
    const session = new ServerSession(client);
    try {
      await client.connect();
    } catch (error) {
      await session.close();
      throw error;
    }
    return session;
  }

  /** Calls back once when the connection is gone, unless it was closed by us. */
  onLost(callback: () => void): void {
    this.lost = callback;
    if (this.ended) callback();
  }

  /** The session alone does not keep its process running. */
  unref(): void {
    // Missing in @types/pg.
    (this.client as Client & { unref(): void }).unref();
  }

  /** @returns false while the server is being stopped */
  tryUse(): Promise<boolean> {
    return this.isTrue(`select pg_try_advisory_lock_shared($1, $2) as answer`, [
      LOCK_CLASS,
      LOCKS.use,
    ]);
  }

  /** @returns false while anyone uses the server. Once true, nobody can begin to. */
  tryUseAlone(): Promise<boolean> {
    return this.isTrue(`select pg_try_advisory_lock($1, $2) as answer`, [LOCK_CLASS, LOCKS.use]);
  }

  /** @returns false while another session is the service of this folder */
  tryBeService(): Promise<boolean> {
    return this.isTrue(`select pg_try_advisory_lock($1, $2) as answer`, [
      LOCK_CLASS,
      LOCKS.service,
    ]);
  }

  /** The name under which the running service opened its session. */
  async findService(): Promise<string | null> {
    const rows = await this.query<{ name: string }>(
      `select application_name as name from pg_locks join pg_stat_activity using (pid)
        where locktype = 'advisory' and classid = $1 and objid = $2 and granted`,
      [LOCK_CLASS, LOCKS.service],
    );
    return rows[0]?.name ?? null;
  }

  hasSession(name: string): Promise<boolean> {
    return this.isTrue(
      'select exists (select from pg_stat_activity where application_name = $1) as answer',
      [name],
    );
  }

  async ensureDatabase(name: string): Promise<void> {
    const exists = 'select exists (select from pg_database where datname = $1) as answer';
    if (await this.isTrue(exists, [name])) return;
    try {
      await this.client.query(`create database "${name}"`);
    } catch (error) {
      // Made meanwhile by a process beside us.
      if (!(await this.isTrue(exists, [name]))) throw error;
    }
  }

  /** @param verifier as PostgreSQL stores a password */
  async setPassword(verifier: string): Promise<void> {
    // One at a time: the server rejects concurrent updates of a role.
    await this.client.query(
      `begin;
       select pg_advisory_xact_lock(${LOCK_CLASS}, ${LOCKS.password});
       alter role "${SUPERUSER}" password '${verifier}';
       commit`,
    );
  }

  async reloadConfiguration(): Promise<void> {
    await this.client.query('select pg_reload_conf()');
  }

  async close(): Promise<void> {
    this.lost = () => undefined;
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<void>((resolve) => (timer = setTimeout(resolve, END_TIMEOUT_MS)));
    await Promise.race([this.client.end().catch(() => undefined), timeout]);
    clearTimeout(timer);
  }

  private async isTrue(sql: string, values: readonly unknown[]): Promise<boolean> {
    const rows = await this.query<{ answer: boolean }>(sql, values);
    return rows[0]?.answer === true;
  }

  private async query<Row extends QueryResultRow>(
    sql: string,
    values: readonly unknown[],
  ): Promise<Row[]> {
    return (await this.client.query<Row>(sql, [...values])).rows;
  }
}
