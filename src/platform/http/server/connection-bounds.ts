import { SettingError } from '../../config/setting-error.js';
import type { Settings } from '../../config/settings.js';

/** Open files for everything except client connections and connections to the database. */
const RESERVED_DESCRIPTORS = 96;
/** The highest default. One process cannot serve more connections, and each costs memory. */
const MAX_DEFAULT_CONNECTIONS = 10_000;

export type ConnectionBounds = ReturnType<typeof connectionBounds>;

/**
 * Returns the limits on client connections. Over its own limit, the service chooses which
 * connection to close. Over the limit of open files, the operating system would reject every new one.
 *
 * @throws SettingError when MAX_CONNECTIONS is over the limit of open files
 */
export function connectionBounds({ bounds, database, server }: Settings) {
  const descriptorLimit = openFilesLimit();
  const databaseConnections = database.poolSize + database.lookupPoolSize;
  const available = descriptorLimit - RESERVED_DESCRIPTORS - databaseConnections;
  const maxConnections = bounds.maxConnections ?? Math.min(available, MAX_DEFAULT_CONNECTIONS);
  if (maxConnections > available || maxConnections < 1) {
    const expected = `at most ${Math.max(available, 0)}, because the limit of open files is ${descriptorLimit} (ulimit -n)`;
    throw new SettingError(new Map([['MAX_CONNECTIONS', expected]]));
  }
  return {
    ...bounds,
    maxConnections,
    maxConnectionsPerAddress: bounds.maxConnectionsPerAddress ?? Math.ceil(maxConnections / 2),
    stalledConnectionTimeoutMs: server.stalledConnectionTimeoutMs,
  };
}

/** Returns the limit of open files, which Node raises at start; Infinity when there is none. */
function openFilesLimit(): number {
  // Windows has no such limit.
  const { userLimits } = process.report.getReport() as {
    userLimits?: { open_files: { soft: number | 'unlimited' } };
  };
  const limit = userLimits?.open_files.soft;
  return typeof limit === 'number' ? limit : Infinity;
}
