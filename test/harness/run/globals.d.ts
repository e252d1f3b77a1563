import type { ChildProcess } from 'node:child_process';

declare global {
  /** Set by the run's set-up, called by its tear-down. */
  var stopDatabaseServer: (() => Promise<void>) | undefined;
  /** One a worker. */
  var serviceHosts: ChildProcess[] | undefined;
}
