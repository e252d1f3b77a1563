import { Client } from 'pg';
import type { ServerFiles } from './server-files.js';
import { readPassword } from '../cluster/server-password.js';
import type { RunningServer } from './server-state.js';

export const SUPERUSER = 'pets';

/** The locks are in this database, so that the service's database can be dropped. */
const MAINTENANCE_DATABASE = 'postgres';

/** First key of the advisory locks: 'pets' in ASCII. */
const LOCK_CLASS = 0x70657473;
/** Users of the server share the lock `use`. Whoever holds it exclusively may stop the server. */
const LOCKS = { use: 1, service: 2, password: 3 } as const;

const CONNECT_TIMEOUT_MS = 5000;
const QUERY_TIMEOUT_MS = 10_000;
const END_TIMEOUT_MS = 2000;

/** A connection that holds locks until its process ends. After kill -9, the kernel closes it. */
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

  /** @param name identifies the session in pg_stat_activity, at most 63 bytes */
  static async open(
    files: ServerFiles,
    { host, port }: RunningServer,
    name: string,
  ): Promise<ServerSession> {
    const client = new Client({
      host,
      port,
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

  /** Calls back once when the connection breaks, but not after `close`. */
  onLost(callback: () => void): void {
    this.lost = callback;
    if (this.ended) callback();
  }

  /** Lets the process end while the session is open. */
  unref(): void {
    // Missing in @types/pg.
    (this.client as Client & { unref(): void }).unref();
  }

  /** Returns false while the server is being stopped. */
  tryUse(): Promise<boolean> {
    return this.tryLock('pg_try_advisory_lock_shared', LOCKS.use);
  }

  /** Returns false while another process uses the server. After true, none can start to use it. */
  tryUseExclusively(): Promise<boolean> {
    return this.tryLock('pg_try_advisory_lock', LOCKS.use);
  }

  /** Returns false while another session is the service of this folder. */
  tryBeService(): Promise<boolean> {
    return this.tryLock('pg_try_advisory_lock', LOCKS.service);
  }

  /** Returns the session name of the running service, or null. */
  async findService(): Promise<string | null> {
    const { rows } = await this.client.query<{ name: string }>(
      `select application_name as name from pg_locks join pg_stat_activity using (pid)
        where locktype = 'advisory' and classid = $1 and objid = $2 and granted`,
      [LOCK_CLASS, LOCKS.service],
    );
    return rows[0]?.name ?? null;
  }

  hasSession(name: string): Promise<boolean> {
    return this.isTrue(
      'select exists (select from pg_stat_activity where application_name = $1) as result',
      [name],
    );
  }

  async ensureDatabase(name: string): Promise<void> {
    const exists = 'select exists (select from pg_database where datname = $1) as result';
    if (await this.isTrue(exists, [name])) return;
    try {
      await this.client.query(`create database "${name}"`);
    } catch (error) {
      // Another process may have created it in the meantime.
      if (!(await this.isTrue(exists, [name]))) throw error;
    }
  }

  /** @param verifier the password as PostgreSQL stores it */
  async setPassword(verifier: string): Promise<void> {
    // The lock is necessary because the server rejects concurrent updates of a role.
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

  private tryLock(lockFunction: string, lock: number): Promise<boolean> {
    return this.isTrue(`select ${lockFunction}($1, $2) as result`, [LOCK_CLASS, lock]);
  }

  private async isTrue(sql: string, values: unknown[]): Promise<boolean> {
    const { rows } = await this.client.query<{ result: boolean }>(sql, values);
    return rows[0]?.result === true;
  }
}
