// @ts-check
// Sends mixed traffic with faults. Fails if memory, open files or connections have grown at the end.
// Usage: npm run soak -- --help
import { setTimeout as delay } from 'node:timers/promises';
import { Command } from 'commander';
import { Redis } from 'ioredis';
import { SERVICE } from './comparison/peers.mjs';
import { wholeNumber } from './options.mjs';
import { runUntilStopped } from './processes/child-processes.mjs';
import { withEnvironment } from './processes/environment.mjs';
import { startPeer } from './processes/peer-process.mjs';
import { freePort } from './processes/ports.mjs';
import { SoakClient } from './soak/client.mjs';
import { COLLECT_GARBAGE, findGrowth, measureIdle } from './soak/resources.mjs';
import { SoakTraffic } from './soak/traffic.mjs';

const ANIMALS = 2_000;
const MAX_WARM_UP_SECONDS = 60;
const MAX_FAULT_INTERVAL_MS = 5_000;
/** A short run has a shorter interval between its faults. */
const MIN_FAULTS = 6;
const REDIS_OUTAGE_MS = 1_500;
/** A revocation takes effect within five seconds, or later if another fault delays it. */
const REVOCATION_LIMIT_MS = 10_000;
const POLL_MS = 250;

/**
 * @param {number} seconds
 * @param {AbortSignal} signal stops the run and all its processes
 * @returns {Promise<string[]>} unexpected responses and resources that have grown
 */
async function soak(seconds, signal) {
  return withEnvironment({ animals: ANIMALS }, signal, async (environment) => {
    const { store, redisUrl } = environment;
    const { database, keys } = store;
    const metricsPort = await freePort();
    const env = {
      METRICS_PORT: String(metricsPort),
      // Connections of fetch() close while the service is measured.
      KEEP_ALIVE_TIMEOUT_SECONDS: '3',
      HEADERS_TIMEOUT_SECONDS: '2',
      REQUEST_TIMEOUT_SECONDS: '3',
      ANONYMOUS_REQUESTS_PER_MINUTE: '1000000000',
      BAN_SECONDS: '5',
      ...(redisUrl !== undefined && { REDIS_URL: redisUrl }),
    };
    const peer = { ...SERVICE, name: 'soak', env };
    const service = await startPeer(peer, environment, signal, COLLECT_GARBAGE);
    const faults = [
      () => terminateConnections(database),
      () => interruptRedis(redisUrl),
      () => revokeKey(store, service.port),
    ];
    /** @param {number} duration in seconds */
    const run = async (duration) => {
      const traffic = new SoakTraffic(service.port, keys);
      const endMs = performance.now() + duration * 1_000;
      const intervalMs = Math.min((duration * 1_000) / MIN_FAULTS, MAX_FAULT_INTERVAL_MS);
      for (let index = 0; performance.now() + intervalMs < endMs; index++) {
        await delay(intervalMs, undefined, { signal });
        await faults[index % faults.length]?.().catch((/** @type {unknown} */ error) =>
          traffic.addFailure('fault', error),
        );
      }
      await delay(Math.max(0, endMs - performance.now()), undefined, { signal });
      await traffic.stop();
      return traffic;
    };
    try {
      const warmUpSeconds = Math.min(seconds / 5, MAX_WARM_UP_SECONDS);
      const warmUp = await run(warmUpSeconds);
      const before = await measureIdle(database, service.pid, metricsPort);
      const main = await run(seconds - warmUpSeconds);
      const after = await measureIdle(database, service.pid, metricsPort, before);
      console.table({ 'after the warm-up': before, 'at the end': after });
      console.table(Object.fromEntries(Object.entries(main.counts).sort()));
      return [...warmUp.failures, ...main.failures, ...findGrowth(before, after)];
    } finally {
      await service.stop();
    }
  });
}

/**
 * Terminates all database connections of the service.
 *
 * @param {import('pg').Client} database
 * @returns {Promise<unknown>}
 */
function terminateConnections(database) {
  return database.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid()`,
  );
}

/**
 * Terminates all connections of the service to Redis, and sends no replies for a while.
 *
 * @param {string | undefined} url
 */
async function interruptRedis(url) {
  if (url === undefined) return;
  const redis = new Redis(url);
  await redis.call('CLIENT', 'KILL', 'TYPE', 'normal');
  await redis.call('CLIENT', 'PAUSE', REDIS_OUTAGE_MS);
  redis.disconnect();
}

/**
 * Issues an API key, uses it, and revokes it.
 *
 * @param {import('./processes/environment.mjs').Store} store
 * @param {number} port of the service
 * @throws if the service still accepts the API key after the limit
 */
async function revokeKey({ cli }, port) {
  const { id, key } = JSON.parse(await cli('keys', 'issue', '--owner', 'caller', '--json'));
  const client = new SoakClient(port);
  /** @param {number} expected status */
  const waitFor = async (expected) => {
    for (const deadlineMs = performance.now() + REVOCATION_LIMIT_MS; ; await delay(POLL_MS)) {
      const { status } = await client.send('/v1/pets?limit=1', { key });
      if (status === expected) return;
      if (performance.now() > deadlineMs) throw new Error(`${status} instead of ${expected}`);
    }
  };
  await waitFor(200);
  await cli('keys', 'revoke', String(id), '--yes');
  await waitFor(401);
}

const { seconds } = new Command('npm run soak --')
  .description('Sends mixed traffic with faults. Fails if memory, files or connections have grown.')
  .option(
    '--seconds <N>',
    'duration; the first fifth, at most a minute, warms up',
    wholeNumber,
    600,
  )
  .parse()
  .opts();
await runUntilStopped(async (signal) => {
  const failures = await soak(seconds, signal);
  for (const failure of failures) console.error(`FAILED  ${failure}`);
  if (failures.length > 0) process.exitCode = 1;
  else console.log('No resource has grown, and every response had an expected status.');
});
