import { SettingError } from '../../config/setting-error.js';
import type { Settings } from '../../config/settings.js';
import type { ConnectionBounds } from './connections.js';

/** Open files that the service needs besides connections: its program, its log, Redis, the embedded database. */
const RESERVED_DESCRIPTORS = 64;
/** More would cost memory without being of use to one process. */
const MOST_CONNECTIONS = 10_000;

/**
 * Returns the bounds on client connections. By default there are as many as the limit of open files allows, so that
 * the service responds to the excess itself instead of the operating system.
 *
 * @param descriptorLimit how many files the process may open
 * @throws SettingError when MAX_CONNECTIONS is more than that limit allows
 */
export function connectionBounds(
  settings: Settings,
  descriptorLimit = openFilesLimit(),
): ConnectionBounds {
  const { bounds, database, server } = settings;
  const available =
    descriptorLimit - RESERVED_DESCRIPTORS - database.poolSize * (1 + database.replicaUrls.length);
  const maxConnections = bounds.maxConnections ?? Math.min(available, MOST_CONNECTIONS);
  if (maxConnections > available || maxConnections < 1) {
    throw new SettingError(
      'MAX_CONNECTIONS',
      `at most ${Math.max(available, 0)}, because the limit of open files is ${descriptorLimit} (ulimit -n)`,
    );
  }
  return {
    maxConnections,
    maxConnectionsPerAddress: bounds.maxConnectionsPerAddress ?? Math.ceil(maxConnections / 2),
    maxRequestsPerConnection: bounds.maxRequestsPerConnection,
    maxUnsentBytes: bounds.maxUnsentBytes,
    stalledConnectionTimeoutMs: server.stalledConnectionTimeoutMs,
  };
}

/** Returns the limit of open files, after Node has raised it as far as it may; Infinity where there is none. */
function openFilesLimit(): number {
  // Windows has no such limit.
  const { userLimits } = process.report.getReport() as {
    userLimits?: { open_files: { soft: number | 'unlimited' } };
  };
  const limit = userLimits?.open_files.soft;
  return typeof limit === 'number' ? limit : Infinity;
}
