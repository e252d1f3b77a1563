// @ts-check
import { readdirSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { residentBytes } from '../measurements/process-usage.mjs';

/**
 * Resources of the service.
 *
 * @typedef {object} Resources
 * @property {number} residentBytes
 * @property {number} heapBytes in use after a garbage collection
 * @property {number} openFiles without database connections
 * @property {number} clientConnections
 * @property {number} databaseConnections
 */

/** All requests and slow clients end within five seconds after the traffic. */
const IDLE_LIMIT_MS = 20_000;
const POLL_MS = 250;
/**
 * Growth that is not a leak: V8 keeps free memory and compiles code for rare requests, and the pools
 * open connections when they need them.
 */
const TOLERANCE = {
  heapShare: 1.15,
  heapBytes: 5_000_000,
  residentBytes: 60_000_000,
  databaseConnections: 12,
};

/**
 * Measures the service without clients, repeatedly until the time limit. Stops earlier if the
 * service is within `limit`.
 *
 * @param {import('pg').Client} database
 * @param {number} pid of the service
 * @param {number} metricsPort
 * @param {Resources} [limit] resources of an earlier measurement
 * @returns {Promise<Resources>} the minimum of each resource
 */
export async function measureIdle(database, pid, metricsPort, limit) {
  const deadlineMs = performance.now() + IDLE_LIMIT_MS;
  let resources = await measure(database, pid, metricsPort);
  while (performance.now() < deadlineMs) {
    await delay(POLL_MS);
    resources = minimum(resources, await measure(database, pid, metricsPort));
    if (limit && findGrowth(limit, resources).length === 0) break;
  }
  return resources;
}

/** @param {import('pg').Client} database @param {number} pid @param {number} metricsPort @returns {Promise<Resources>} */
async function measure(database, pid, metricsPort) {
  // collect-garbage.mjs handles this signal.
  process.kill(pid, 'SIGUSR2');
  const metrics = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
  const value = (/** @type {string} */ name) =>
    Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(metrics)?.[1]);
  const { rows } = await database.query(
    `SELECT count(*)::integer AS count FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid()`,
  );
  return {
    residentBytes: residentBytes(pid),
    heapBytes: value('nodejs_heap_size_used_bytes'),
    openFiles: readdirSync(`/proc/${pid}/fd`).length - rows[0].count,
    clientConnections: value('pets_connections'),
    databaseConnections: rows[0].count,
  };
}

/** @param {Resources} one @param {Resources} other @returns {Resources} */
function minimum(one, other) {
  const names = /** @type {(keyof Resources)[]} */ (Object.keys(one));
  return /** @type {Resources} */ (
    Object.fromEntries(names.map((name) => [name, Math.min(one[name], other[name])]))
  );
}

/**
 * Returns a line for each resource that has grown by more than the tolerance.
 *
 * @param {Resources} before
 * @param {Resources} after
 * @returns {string[]}
 */
export function findGrowth(before, after) {
  /** @type {Resources} */
  const allowed = {
    ...before,
    heapBytes: before.heapBytes * TOLERANCE.heapShare + TOLERANCE.heapBytes,
    residentBytes: before.residentBytes + TOLERANCE.residentBytes,
    databaseConnections: before.databaseConnections + TOLERANCE.databaseConnections,
  };
  const names = /** @type {(keyof Resources)[]} */ (Object.keys(before));
  return (
    names
      // NaN counts as growth.
      .filter((name) => !(after[name] <= allowed[name]))
      .map((name) => `${name}: ${after[name]} at the end, ${before[name]} after the warm-up`)
  );
}

/** @param {Resources} resources */
export function resourcesText(resources) {
  const megabytes = (/** @type {number} */ bytes) => `${(bytes / 1e6).toFixed(1)} MB`;
  return [
    `${megabytes(resources.residentBytes)} resident memory`,
    `${megabytes(resources.heapBytes)} heap`,
    `${resources.openFiles} open files`,
    `${resources.clientConnections} client connections`,
    `${resources.databaseConnections} database connections`,
  ].join(', ');
}
