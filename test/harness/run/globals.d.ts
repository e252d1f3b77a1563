import type { ChildProcess } from 'node:child_process';

declare global {
  /** Set by the run's set-up, called by its tear-down. */
  var stopDatabaseServer: (() => Promise<void>) | undefined;
  /** One a worker. */
  var serviceHosts: ChildProcess[] | undefined;
}

declare module 'pg' {
  /** The methods of its socket, which the types of the package omit. */
  interface Client {
    ref(): void;
    unref(): void;
  }
}
