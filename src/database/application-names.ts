/** The `application_name` of each kind of connection, as pg_stat_activity shows it. */
export const APPLICATION_NAMES = {
  requests: 'pets',
  standbyReads: 'pets reads',
  lookups: 'pets lookups',
  keyChanges: 'pets key changes',
  commands: 'pets cli',
  migrations: 'pets migrations',
} as const;

export type ApplicationName = (typeof APPLICATION_NAMES)[keyof typeof APPLICATION_NAMES];
