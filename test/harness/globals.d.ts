declare global {
  /** Set by the run's set-up, called by its tear-down. */
  var stopDatabaseServer: (() => Promise<void>) | undefined;
}
export {};
