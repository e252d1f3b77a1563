/**
 * The environment variables of the server, initdb and the guard: the paths of programs, libraries
 * and temporary files, and those that every program on Windows needs. Other variables may hold
 * secrets or change how these programs work.
 */
const ALLOWED = new Set([
  'PATH',
  'LD_LIBRARY_PATH',
  'TMPDIR',
  // Windows, where names are case-insensitive.
  'COMSPEC',
  'PATHEXT',
  'SYSTEMDRIVE',
  'SYSTEMROOT',
  'TEMP',
  'TMP',
  'WINDIR',
]);

/** Returns the environment of the server, initdb and the guard. */
export function childEnvironment(): NodeJS.ProcessEnv {
  // Only passed on.
  // eslint-disable-next-line no-restricted-properties
  const allowed = Object.entries(process.env).filter(([name]) => ALLOWED.has(name.toUpperCase()));
  // initdb writes the time zone and the language of messages to the configuration of the cluster.
  return { ...Object.fromEntries(allowed), LC_ALL: 'C', TZ: 'UTC' };
}
