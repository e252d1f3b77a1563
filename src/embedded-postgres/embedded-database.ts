export interface EmbeddedConnection {
  /** The folder of the socket on Unix. */
  host: string;
  port: number;
  user: string;
  password?: string;
  database: string;
}

export interface EmbeddedDatabase {
  readonly connection: EmbeddedConnection;
  /** Detaches from the server, and stops it if no other process uses it. Idempotent. */
  close(): Promise<void>;
}

export interface EmbeddedOptions {
  /** Created if missing. A relative path starts at the working directory. */
  dataDir: string;
  /** 'service': at most one per folder; 'command': any number, with or without a service. */
  use: 'service' | 'command';
  /** How long to wait for the server, including initdb and recovery. */
  startTimeoutMs?: number;
  /** Where root keeps a copy of the binaries. By default a folder in /var/cache. */
  sharedFolder?: string;
}
