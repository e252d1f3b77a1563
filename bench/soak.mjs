// @ts-check
// Mixed traffic with faults for ten minutes; then memory, open files and connections must be as
// before: npm run soak
import { readdirSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { fileURLToPath } from 'node:url';
import { generateKey, hashKey, keyHint } from '#dist/auth/key-format.js';
import { PeerProcess } from './processes/peer-process.mjs';
import { freePort } from './processes/ports.mjs';
import { residentBytes } from './measurements/process-usage.mjs';
import { startRedis } from './processes/redis.mjs';
import { SoakClient } from './soak/client.mjs';
import { SoakTraffic } from './soak/traffic.mjs';
import { onStage } from './processes/environment.mjs';
import { aligned } from './report/tables.mjs';

/** @typedef {import('./processes/environment.mjs').Stage} Stage */

/**
 * What the service holds.
 *
 * @typedef {object} Held
 * @property {number} residentBytes
 * @property {number} heapBytes in use after a garbage collection
 * @property {number} openFiles without database connections
 * @property {number} clientConnections
 * @property {number} databaseConnections
 */

const USAGE = `Usage: npm run soak -- [options]
  --seconds N   how long (600); a fifth of it, a minute at most, warms the service up`;
const ANIMALS = 2_000;
const CLIENTS = { workers: 12, slowClients: 4 };
const MAX_WARM_UP_SECONDS = 60;
const MAX_FAULT_INTERVAL_MS = 5_000;
/** In a short run. */
const MIN_FAULTS = 6;
const OUTAGE_MS = 1_500;
/**
 * Within this time after the traffic, everything is closed. Requests and slow clients end within
 * five seconds.
 */
const SETTLE_LIMIT_MS = 20_000;
const POLL_MS = 250;
/** Contract: revocations hold within five seconds; with a pause for a fault at the same time. */
const REVOCATION_LIMIT_MS = 10_000;
/**
 * V8 keeps some room, and compiles what a rare request first needs; pools open connections when
 * they need them.
 */
const TOLERANCE = {
  heapShare: 1.15,
  heapBytes: 5_000_000,
  residentBytes: 60_000_000,
  databaseConnections: 12,
};

const MAIN = fileURLToPath(new URL('../dist/bundle/main.js', import.meta.url));
const COLLECT_GARBAGE = new URL('soak/collect-garbage.mjs', import.meta.url).href;

/** @param {number} seconds @param {AbortSignal} signal @returns {Promise<string[]>} what is not as it must be */
async function soak(seconds, signal) {
  return onStage(ANIMALS, signal, async (stage) => {
    const redisPort = await freePort();
    let redis = await startRedis(stage.folder, redisPort);
    const metricsPort = await freePort();
    const service = await PeerProcess.start(
      {
        name: 'soak',
        title: 'this service',
        program: MAIN,
        abilities: [],
        env: {
          METRICS_PORT: String(metricsPort),
          HEADERS_TIMEOUT_SECONDS: '2',
          REQUEST_TIMEOUT_SECONDS: '3',
          ANONYMOUS_REQUESTS_PER_MINUTE: '1000000000',
          BAN_SECONDS: '5',
          ...(redis && { REDIS_URL: `redis://127.0.0.1:${redisPort}` }),
        },
      },
      stage,
      signal,
      ['--expose-gc', '--import', COLLECT_GARBAGE],
    );
    const faults = [
      () => terminateConnections(stage),
      async () => {
        await redis?.close();
        await delay(OUTAGE_MS);
        if (redis) redis = await startRedis(stage.folder, redisPort);
      },
      () => revoke(stage, service.port),
    ];
    try {
      const warmUpSeconds = Math.min(seconds / 5, MAX_WARM_UP_SECONDS);
      const warmUp = await traffic(stage, service, warmUpSeconds, faults, signal);
      const before = await settled(stage, service, metricsPort);
      print('after the warm-up', before);
      const main = await traffic(stage, service, seconds - warmUpSeconds, faults, signal);
      const after = await settled(stage, service, metricsPort, before);
      print('at the end', after);
      console.log(`\n${countsText(main.counts)}\n`);
      return [...warmUp.failures, ...main.failures, ...growth(before, after)];
    } finally {
      await service.stop();
      await redis?.close();
    }
  });
}

/**
 * @param {Stage} stage
 * @param {PeerProcess} service
 * @param {number} seconds
 * @param {readonly (() => Promise<unknown>)[]} faults one after the other
 * @param {AbortSignal} signal ends it
 */
async function traffic(stage, service, seconds, faults, signal) {
  const clients = new SoakTraffic(service.port, stage.keys);
  clients.start(CLIENTS);
  const endMs = performance.now() + seconds * 1_000;
  const intervalMs = Math.min((seconds * 1_000) / MIN_FAULTS, MAX_FAULT_INTERVAL_MS);
  try {
    for (let index = 0; performance.now() + intervalMs < endMs; index++) {
      await delay(intervalMs, undefined, { signal });
      await faults[index % faults.length]?.().catch((/** @type {unknown} */ error) =>
        clients.fail(error),
      );
    }
    await delay(Math.max(0, endMs - performance.now()), undefined, { signal });
  } finally {
    await clients.stop();
  }
  return clients;
}

/** @param {Stage} stage ends every connection of the service */
function terminateConnections({ database }) {
  return database.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid()`,
  );
}

/**
 * Revokes a new API key that the service has accepted.
 *
 * @param {Stage} stage
 * @param {number} port
 * @throws when the service still accepts it later
 */
async function revoke({ database }, port) {
  const key = generateKey();
  const { rows } = await database.query(
    `INSERT INTO api_keys (owner_id, hash, hint) SELECT min(id), $1, $2 FROM owners WHERE name = 'caller' RETURNING id`,
    [Buffer.from(hashKey(key), 'hex'), keyHint(key)],
  );
  const client = new SoakClient(port);
  const status = async () => (await client.send('/v1/pets?limit=1', { key })).status;
  await until(async () => (await status()) === 200, 'a new API key is not accepted');
  await database.query('UPDATE api_keys SET revoked_at = now() WHERE id = $1', [rows[0].id]);
  await until(async () => (await status()) === 401, 'a revoked API key is accepted');
  client.close();
}

/** @param {() => Promise<boolean>} condition @param {string} otherwise */
async function until(condition, otherwise) {
  const deadlineMs = performance.now() + REVOCATION_LIMIT_MS;
  while (!(await condition())) {
    if (performance.now() > deadlineMs) throw new Error(otherwise);
    await delay(POLL_MS);
  }
}

/**
 * Returns what the service holds when it has no clients; the least of what was seen within the
 * limit.
 *
 * @param {Stage} stage
 * @param {PeerProcess} service
 * @param {number} metricsPort
 * @param {Held} [before] what it may hold
 */
async function settled(stage, service, metricsPort, before) {
  const deadlineMs = performance.now() + SETTLE_LIMIT_MS;
  // Without a state to compare with, it settles as long as it may take.
  let held = await look(stage, service, metricsPort);
  while (performance.now() < deadlineMs) {
    await delay(POLL_MS);
    held = least(held, await look(stage, service, metricsPort));
    if (before && growth(before, held).length === 0) break;
  }
  return held;
}

/** @param {Stage} stage @param {PeerProcess} service @param {number} metricsPort @returns {Promise<Held>} */
async function look({ database }, service, metricsPort) {
  process.kill(service.pid, 'SIGUSR2');
  const metrics = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
  const value = (/** @type {string} */ name) =>
    Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(metrics)?.[1]);
  const { rows } = await database.query(
    `SELECT count(*)::integer AS count FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid()`,
  );
  return {
    residentBytes: residentBytes(service.pid),
    heapBytes: value('nodejs_heap_size_used_bytes'),
    openFiles: readdirSync(`/proc/${service.pid}/fd`).length - rows[0].count,
    clientConnections: value('pets_connections'),
    databaseConnections: rows[0].count,
  };
}

/** @param {Held} one @param {Held} other @returns {Held} */
function least(one, other) {
  const names = /** @type {(keyof Held)[]} */ (Object.keys(one));
  return /** @type {Held} */ (
    Object.fromEntries(names.map((name) => [name, Math.min(one[name], other[name])]))
  );
}

/** @param {Held} before @param {Held} after @returns {string[]} what has grown */
function growth(before, after) {
  /** @type {Held} */
  const allowed = {
    ...before,
    heapBytes: before.heapBytes * TOLERANCE.heapShare + TOLERANCE.heapBytes,
    residentBytes: before.residentBytes + TOLERANCE.residentBytes,
    databaseConnections: before.databaseConnections + TOLERANCE.databaseConnections,
  };
  const names = /** @type {(keyof Held)[]} */ (Object.keys(before));
  return names
    .filter((name) => !(after[name] <= allowed[name]))
    .map((name) => `${name}: ${after[name]} at the end, ${before[name]} before`);
}

/** @param {string} when @param {Held} held */
function print(when, held) {
  const megabytes = (/** @type {number} */ bytes) => `${(bytes / 1e6).toFixed(1)} MB`;
  console.log(
    `${when}: ${megabytes(held.residentBytes)} resident, ${megabytes(held.heapBytes)} heap, ${held.openFiles} open files, ` +
      `${held.clientConnections} client connections, ${held.databaseConnections} database connections`,
  );
}

/** @param {Record<string, number>} counts */
function countsText(counts) {
  const rows = Object.entries(counts).sort(([one], [other]) => (one < other ? -1 : 1));
  return aligned([['responses', 'number'], ...rows.map(([name, count]) => [name, String(count)])]);
}

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => stop.abort());
const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '600' }, help: { type: 'boolean' } },
});
if (values.help) console.log(USAGE);
else if (!/^[1-9]\d{0,5}$/.test(values.seconds)) {
  console.error('--seconds takes a number from 1 on.');
  process.exitCode = 1;
} else {
  try {
    const failures = await soak(Number(values.seconds), stop.signal);
    for (const failure of failures) console.error(`FAILED  ${failure}`);
    if (failures.length > 0) process.exitCode = 1;
    else console.log('Nothing has grown, and every response had an expected status.');
  } catch (error) {
    console.error(stop.signal.aborted ? 'Aborted.' : error);
    process.exitCode = 1;
  }
}
