/**
 * The variables that the server, initdb and the guard get: the path of programs, of libraries (for Node) and of temporary
 * files, and those without which no program starts on Windows. All others may hold secrets, or change how these programs
 * behave.
 */
const ALLOWED = new Set([
  'PATH',
  'LD_LIBRARY_PATH',
  'TMPDIR',
  // Windows, where names have no case.
  'COMSPEC',
  'PATHEXT',
  'SYSTEMDRIVE',
  'SYSTEMROOT',
  'TEMP',
  'TMP',
  'WINDIR',
]);

/** The environment of the server, of initdb and of the guard. */
export function childEnvironment(): NodeJS.ProcessEnv {
  // Passed on; nothing here depends on the values.
  // eslint-disable-next-line no-restricted-properties
  const allowed = Object.entries(process.env).filter(([name]) => ALLOWED.has(name.toUpperCase()));
  // initdb writes the time zone and the language of messages into the cluster's configuration.
  return { ...Object.fromEntries(allowed), LC_ALL: 'C', TZ: 'UTC' };
}
