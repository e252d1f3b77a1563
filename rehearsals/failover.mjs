// @ts-check
// Kills the leader of the database cluster in deploy/patroni under load, and then switches over.
// Usage: npm run rehearse:failover -- --help
import { readFileSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fillStore, ROOT } from '../bench/processes/store.mjs';
import { DatabaseCluster, waitUntil } from './database-cluster.mjs';
import { startReplicas, stopReplicas } from './replicas.mjs';
import { rehearse } from './runs.mjs';
import { Traffic } from './traffic.mjs';

const ANIMALS = 10_000;
const REPLICAS = 2;
/** Traffic before each failure and after the recovery. */
const CALM_MS = 3_000;
/** A replica works again this long after the new leader has accepted its role. */
const BACK_LIMIT_MS = 5_000;

/** @typedef {import('./replicas.mjs').Replica} Replica */

/**
 * Creates the database, the roles and the tables, as deploy/patroni/README.md does.
 *
 * @param {DatabaseCluster} cluster
 * @param {AbortSignal} signal
 */
async function prepare(cluster, signal) {
  const password = cluster.superuserPassword;
  const superuser = await cluster.connect('postgres');
  await superuser.query('CREATE DATABASE pets').finally(() => superuser.end());
  const administrator = await cluster.connect('pets');
  await administrator.query(readFileSync(join(ROOT, 'deploy/postgres/roles.sql'), 'utf8'));
  for (const role of ['pets_owner', 'pets_service']) {
    await administrator.query(`ALTER ROLE ${role} PASSWORD '${password}'`);
  }
  await administrator.end();
  const owner = await cluster.connect('pets', 'pets_owner', password);
  const libpq = { PGHOST: '127.0.0.1', PGPORT: String(cluster.port), PGUSER: 'pets_owner' };
  const where = { ...libpq, PGPASSWORD: password, PGDATABASE: 'pets' };
  return await fillStore(owner, where, { animals: ANIMALS }, signal).finally(() => owner.end());
}

/**
 * Waits until a replica is ready, has confirmed a create, and all replicas listen for changes of API
 * keys again. Returns the time of the last of these events.
 *
 * @param {DatabaseCluster} cluster
 * @param {Replica[]} replicas
 * @param {Traffic} traffic
 * @param {number} sinceMs of `performance.now()`
 */
async function waitUntilBack(cluster, replicas, traffic, sinceMs) {
  const failure = () => 'The replicas are not back.';
  const ready = replicas.map(({ port }) =>
    waitUntil(
      async () => {
        const response = await fetch(`http://127.0.0.1:${port}/health/ready`);
        return (await response.text()).includes('"status":"ok"');
      },
      failure,
      cluster.signal,
    ),
  );
  const created = replicas.map((_, replica) =>
    waitUntil(
      () =>
        Promise.resolve(
          traffic.sent.some(
            (sent) =>
              sent.replica === replica &&
              sent.kind === 'create' &&
              sent.status === 201 &&
              sent.startedAtMs > sinceMs,
          ),
        ),
      failure,
      cluster.signal,
    ),
  );
  return Math.max(...(await Promise.all([...ready, ...created])));
}

/** @param {AbortSignal} signal @returns {Promise<import('./runs.mjs').Outcome>} */
async function run(signal) {
  const folder = await mkdtemp(join(tmpdir(), 'pets-failover-'));
  await chmod(folder, 0o755);
  try {
    return await DatabaseCluster.use(folder, signal, async (cluster) => {
      const store = await prepare(cluster, signal);
      const environment = { folder, redisUrl: undefined, pids: { postgres: 0, redis: undefined } };
      const DATABASE_URL = store.env.DATABASE_URL?.replace('pets_owner', 'pets_service') ?? '';
      const env = { DATABASE_URL, MIGRATE_ON_START: 'false' };
      const service = { ...environment, store, earlier: undefined };
      const replicas = await startReplicas(REPLICAS, service, env, signal);
      try {
        return await failOver(cluster, replicas, store.keys.caller);
      } finally {
        await stopReplicas(replicas);
      }
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** @param {DatabaseCluster} cluster @param {Replica[]} replicas @param {string} key */
async function failOver(cluster, replicas, key) {
  const traffic = new Traffic(replicas, key);
  /** @type {Record<string, number>} */
  const figures = {};
  /** @type {string[]} */
  const broken = [];
  /** @param {string} name @param {(leader: Awaited<ReturnType<DatabaseCluster['leader']>>) => Promise<unknown>} fail */
  const rehearseFailure = async (name, fail) => {
    await delay(CALM_MS, undefined, { signal: cluster.signal });
    const leader = await cluster.leader();
    const [fromMs, first] = [performance.now(), traffic.sent.length];
    const failing = fail(leader);
    failing.catch(() => undefined);
    await cluster.leader(leader);
    const electedMs = performance.now();
    const backMs = await waitUntilBack(cluster, replicas, traffic, electedMs);
    await failing;
    await delay(CALM_MS, undefined, { signal: cluster.signal });
    const seconds = (/** @type {number} */ ms) => ms / 1_000;
    figures[`${name}: s until the new leader`] = seconds(electedMs - fromMs);
    figures[`${name}: s without writes`] = seconds(traffic.longestGapMs('create', 201, fromMs));
    figures[`${name}: s without lists`] = seconds(traffic.longestGapMs('list', 200, fromMs));
    figures[`${name}: s from the new leader until all replicas work`] = seconds(backMs - electedMs);
    for (const { kind, status } of traffic.sent.slice(first)) {
      if (status === 200 || status === 201) continue;
      const label = `${name}: ${kind}s with ${status === 0 ? 'no response' : status}`;
      figures[label] = (figures[label] ?? 0) + 1;
    }
    if (backMs - electedMs > BACK_LIMIT_MS)
      broken.push(`${name}: back after ${backMs - electedMs} ms`);
    return leader;
  };
  const killed = await rehearseFailure('kill', (leader) => leader.kill());
  killed.start();
  const startedMs = performance.now();
  figures['s until the former leader is a standby'] =
    ((await cluster.waitForStandbys(cluster.machines.length - 1)) - startedMs) / 1_000;
  await rehearseFailure('switchover', (leader) =>
    leader.patronictl('switchover', 'pets', '--force'),
  );
  await traffic.stop();
  const database = await cluster.connect('pets');
  broken.push(...(await traffic.check(database).finally(() => database.end())));
  console.log(`${traffic.sent.length} requests, ${traffic.confirmed.length} confirmed creates.`);
  return { figures, broken };
}

const description = 'Kills the leader of deploy/patroni under load, and switches over.';
await rehearse('failover', description, run);
