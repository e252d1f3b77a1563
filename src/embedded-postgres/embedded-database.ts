export interface EmbeddedConnection {
  /** The socket's folder on Unix. */
  host: string;
  port: number;
  user: string;
  password?: string;
  database: string;
}

export interface EmbeddedDatabase {
  readonly connection: EmbeddedConnection;
  /**
   * Lets go of the server; stops it when nobody else uses it. Resolves when it has stopped or is
   * left to its other users. Idempotent.
   */
  close(): Promise<void>;
}

export interface EmbeddedOptions {
  /** Made when missing; a relative path counts from the working directory. */
  dataDir: string;
  /** 'service': the only one of this folder; 'command': any number, beside a service or alone. */
  use: 'service' | 'command';
  /** How long to wait for the server, initdb and recovery included. */
  startTimeoutMs?: number;
  /** Where root keeps a copy of the binaries; by default a folder of /var/cache. */
  sharedFolder?: string;
}
