// @ts-check
import { readdirSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { residentBytes } from '../processes/process-usage.mjs';

/** The service runs with these flags of Node.js. SIGUSR2 then collects garbage. */
export const COLLECT_GARBAGE = [
  '--expose-gc',
  '--import=data:text/javascript,process.on("SIGUSR2",()=>gc())',
];

/** All requests and slow clients end within five seconds after the traffic. */
const IDLE_LIMIT_MS = 20_000;
const POLL_MS = 250;
/**
 * Growth that is not a leak: V8 keeps free memory and compiles code for rare requests, and the pools
 * open connections when they need them.
 */
const TOLERANCE = { residentMB: 60, heapMB: 12, openFiles: 0, clients: 0, databaseConnections: 12 };

/** @typedef {typeof TOLERANCE} Resources the files do not include database connections */

const NAMES = /** @type {(keyof Resources)[]} */ (Object.keys(TOLERANCE));

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
  const resources = await measure(database, pid, metricsPort);
  for (const deadlineMs = performance.now() + IDLE_LIMIT_MS; performance.now() < deadlineMs;) {
    if (limit && findGrowth(limit, resources).length === 0) break;
    await delay(POLL_MS);
    const next = await measure(database, pid, metricsPort);
    for (const name of NAMES) resources[name] = Math.min(resources[name], next[name]);
  }
  return resources;
}

/** @param {import('pg').Client} database @param {number} pid @param {number} metricsPort @returns {Promise<Resources>} */
async function measure(database, pid, metricsPort) {
  process.kill(pid, 'SIGUSR2');
  const metrics = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
  const value = (/** @type {string} */ name) =>
    Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(metrics)?.[1]);
  const { rows } = await database.query(
    `SELECT count(*)::integer AS count FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid()`,
  );
  return {
    residentMB: residentBytes(pid) / 1e6,
    heapMB: value('nodejs_heap_size_used_bytes') / 1e6,
    openFiles: readdirSync(`/proc/${pid}/fd`).length - rows[0].count,
    clients: value('pets_connections'),
    databaseConnections: rows[0].count,
  };
}

/**
 * Returns a line for each resource that has grown by more than the tolerance.
 *
 * @param {Resources} before
 * @param {Resources} after
 */
export function findGrowth(before, after) {
  return (
    // NaN counts as growth.
    NAMES.filter((name) => !(after[name] <= before[name] + TOLERANCE[name])).map(
      (name) => `${name}: ${after[name]} at the end, ${before[name]} after the warm-up`,
    )
  );
}
