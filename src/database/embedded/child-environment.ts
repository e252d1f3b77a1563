/**
 * The environment of the server, of initdb and of the guard: ours, without what would change how
 * they behave (libpq's PG* settings, locales and the debugger's or hooks' options for Node).
 */
export function childEnvironment(): NodeJS.ProcessEnv {
  // Handed on as a whole; nothing of it is read.
  // eslint-disable-next-line no-restricted-properties
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^(PG[A-Z]|LC_|LANG|NODE_OPTIONS$|NODE_CHANNEL)/i.test(name),
  );
  // initdb writes the time zone and the language of messages into the cluster's configuration.
  return { ...Object.fromEntries(kept), LC_ALL: 'C', TZ: 'UTC' };
}
