// @ts-check
// Kills the leader of the database cluster in deploy/patroni under load, and then switches over.
// Usage: npm run rehearse:failover -- --help
import { readFileSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fillStore, ROOT } from '../bench/processes/store.mjs';
import { rehearse, until, withReplicas } from './harness.mjs';
import { DatabaseCluster } from './patroni.mjs';
import { Traffic } from './traffic.mjs';

const ANIMALS = 10_000;
const REPLICAS = 2;
/** Traffic before each failure and after the recovery. */
const CALM_MS = 3_000;
/** A replica works again this long after the new leader has accepted its role. */
const BACK_LIMIT_MS = 5_000;

/** @typedef {import('./harness.mjs').Outcome} Outcome */
/** @typedef {import('./harness.mjs').Replica} Replica */

/** Creates the database, the roles and the tables, as deploy/patroni/README.md does. @param {DatabaseCluster} cluster */
async function prepare(cluster) {
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
  const filled = fillStore(owner, where, { animals: ANIMALS }, cluster.signal);
  return await filled.finally(() => owner.end());
}

/**
 * Waits until each replica is ready and has confirmed a create. Returns the time of the last of these.
 *
 * @param {DatabaseCluster} cluster @param {Replica[]} replicas @param {Traffic} traffic
 * @param {number} sinceMs of `performance.now()`
 */
async function untilBack({ signal }, replicas, traffic, sinceMs) {
  const isReady = async (/** @type {Replica} */ { port }) => {
    const response = await fetch(`http://127.0.0.1:${port}/health/ready`);
    return (await response.text()).includes('"status":"ok"');
  };
  const hasCreated = (/** @type {number} */ index) =>
    traffic.sent.some(
      ({ replica, kind, status, startedAtMs }) =>
        replica === index && kind === 'create' && status === 201 && startedAtMs > sinceMs,
    );
  const times = replicas.flatMap((replica, index) => [
    until('a ready replica', () => isReady(replica), signal),
    until('a create', () => hasCreated(index), signal),
  ]);
  return Math.max(...(await Promise.all(times)));
}

/** @param {DatabaseCluster} cluster @param {Replica[]} replicas @param {string} key @param {Outcome} outcome */
async function failOver(cluster, replicas, key, outcome) {
  const traffic = new Traffic(replicas, key);
  /** @param {string} name @param {(leader: Awaited<ReturnType<DatabaseCluster['leader']>>) => Promise<unknown>} fail */
  const rehearseFailure = async (name, fail) => {
    await delay(CALM_MS, undefined, { signal: cluster.signal });
    const leader = await cluster.leader();
    const [fromMs, first] = [performance.now(), traffic.sent.length];
    const failing = fail(leader);
    failing.catch(() => undefined);
    await cluster.leader(leader);
    const electedMs = performance.now();
    const backMs = (await untilBack(cluster, replicas, traffic, electedMs)) - electedMs;
    await failing;
    await delay(CALM_MS, undefined, { signal: cluster.signal });
    outcome.add(`${name}: s until the new leader`, (electedMs - fromMs) / 1_000);
    outcome.add(`${name}: s without writes`, traffic.longestGapMs('create', 201, fromMs) / 1_000);
    outcome.add(`${name}: s without lists`, traffic.longestGapMs('list', 200, fromMs) / 1_000);
    outcome.add(`${name}: s from the new leader until all replicas work`, backMs / 1_000);
    for (const { kind, status } of traffic.sent.slice(first)) {
      if (status !== 200 && status !== 201) outcome.add(`${name}: ${kind}s with ${status}`, 1);
    }
    outcome.check(backMs <= BACK_LIMIT_MS, `${name}: back after ${backMs} ms`);
    return leader;
  };
  const killed = await rehearseFailure('kill', (leader) => leader.kill());
  killed.start();
  const startedMs = performance.now();
  const standbyMs = await cluster.waitForStandbys(cluster.machines.length - 1);
  outcome.add('s until the former leader is a standby', (standbyMs - startedMs) / 1_000);
  await rehearseFailure('switchover', (leader) =>
    leader.patronictl('switchover', 'pets', '--force'),
  );
  await traffic.stop();
  const database = await cluster.connect('pets');
  outcome.broken.push(...(await traffic.check(database).finally(() => database.end())));
  console.log(`${traffic.sent.length} requests, ${traffic.confirmed.size} confirmed creates.`);
}

const description = 'Kills the leader of deploy/patroni under load, and switches over.';
await rehearse('failover', description, async (outcome, signal) => {
  const folder = await mkdtemp(join(tmpdir(), 'pets-failover-'));
  await chmod(folder, 0o755);
  const use = DatabaseCluster.use(folder, signal, async (cluster) => {
    const store = await prepare(cluster);
    const pids = { postgres: 0, redis: undefined };
    const environment = { folder, redisUrl: undefined, pids, store, earlier: undefined };
    const DATABASE_URL = store.env.DATABASE_URL?.replace('pets_owner', 'pets_service') ?? '';
    const env = { DATABASE_URL, MIGRATE_ON_START: 'false' };
    await withReplicas(REPLICAS, environment, env, signal, (replicas) =>
      failOver(cluster, replicas, store.keys.caller, outcome),
    );
  });
  await use.finally(() => rm(folder, { recursive: true, force: true }));
});
