// @ts-check
// Kills the leader of the database cluster in deploy/patroni under load, and then switches over.
// Usage: npm run rehearse:failover -- --help
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fillStore, ROOT } from '../bench/processes/store.mjs';
import { newAnimal } from '../examples/new-animal.mjs';
import { rehearse, until, withReplicas } from './harness.mjs';
import { DatabaseCluster } from './patroni.mjs';

const ANIMALS = 10_000;
const REPLICAS = 2;
/** Traffic before each failure and after the recovery. */
const CALM_MS = 3_000;
/** A replica works again this long after the new leader has accepted its role. */
const BACK_LIMIT_MS = 5_000;
const WORKERS = 4;
const PAUSE_MS = 10;
const RETRY_AFTER_MS = 100;
const RESPONSE_LIMIT_MS = 10_000;

/** @typedef {import('./harness.mjs').Outcome} Outcome */
/** @typedef {import('./harness.mjs').Replica} Replica */

/** Creates the database, the roles and the tables, as deploy/patroni/README.md does. @param {DatabaseCluster} cluster */
async function prepare(cluster) {
  const password = cluster.superuserPassword;
  const superuser = await cluster.connect('postgres');
  await superuser.query('CREATE DATABASE pets').finally(() => superuser.end());
  const administrator = await cluster.connect('pets');
  await administrator.query(readFileSync(join(ROOT, 'deploy/postgres/roles.sql'), 'utf8'));
  for (const role of ['pets_owner', 'pets_service'])
    await administrator.query(`ALTER ROLE ${role} PASSWORD '${password}'`);
  await administrator.end();
  const owner = await cluster.connect('pets', 'pets_owner', password);
  const libpq = { PGHOST: '127.0.0.1', PGPORT: String(cluster.port), PGUSER: 'pets_owner' };
  const where = { ...libpq, PGPASSWORD: password, PGDATABASE: 'pets' };
  const filled = fillStore(owner, where, { animals: ANIMALS }, cluster.signal);
  return await filled.finally(() => owner.end());
}

/**
 * Adds animals through each replica until it is stopped. A create is repeated with its Idempotency-Key, on
 * each replica in turn, until it is confirmed.
 *
 * @param {Replica[]} replicas @param {string} key @param {Outcome} outcome
 */
function startCreates(replicas, key, outcome) {
  /** The ids of confirmed animals by Idempotency-Key. @type {Map<string, string>} */
  const confirmed = new Map();
  /** @type {{ replica: number, atMs: number }[]} */
  const creates = [];
  const state = { isOver: false };
  const send = async (
    /** @type {number} */ replica,
    /** @type {string} */ idempotencyKey,
    /** @type {object} */ animal,
  ) => {
    const response = await fetch(`http://127.0.0.1:${replicas[replica]?.port ?? 0}/v1/pets`, {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${key}`,
        'Content-Type': 'application/json',
        'Idempotency-Key': idempotencyKey,
      },
      body: JSON.stringify(animal),
      signal: AbortSignal.timeout(RESPONSE_LIMIT_MS),
    }).catch(() => null);
    const text = (await response?.text().catch(() => '')) ?? '';
    const status = response?.status ?? 0;
    if (status !== 201) return status;
    creates.push({ replica, atMs: performance.now() });
    // Ids are int64, so JSON.parse could round them.
    confirmed.set(idempotencyKey, /"id":(\d+)/.exec(text)?.[1] ?? '');
    return status;
  };
  const work = async (/** @type {number} */ first) => {
    for (; !state.isOver; await delay(PAUSE_MS)) {
      const idempotencyKey = randomUUID();
      const animal = newAnimal();
      for (let replica = first, status = 0; status !== 201; replica++) {
        status = await send(replica % replicas.length, idempotencyKey, animal);
        const isExpected = [0, 201, 409, 503].includes(status);
        outcome.check(isExpected, `a create got ${status}`);
        if (!isExpected) break;
        if (status !== 201) await delay(RETRY_AFTER_MS);
      }
    }
  };
  const workers = Array.from({ length: WORKERS * replicas.length }, (_, at) => work(at));
  const stop = () => {
    state.isOver = true;
    return Promise.all(workers);
  };
  return { confirmed, creates, stop };
}

/** @param {DatabaseCluster} cluster @param {Replica[]} replicas @param {string} key @param {Outcome} outcome */
async function failOver(cluster, replicas, key, outcome) {
  const { signal } = cluster;
  const traffic = startCreates(replicas, key, outcome);
  /** @param {string} name @param {(leader: Awaited<ReturnType<DatabaseCluster['leader']>>) => Promise<unknown>} fail */
  const rehearseFailure = async (name, fail) => {
    await delay(CALM_MS, undefined, { signal });
    const leader = await cluster.leader();
    const fromMs = performance.now();
    const failing = fail(leader);
    failing.catch(() => undefined);
    await cluster.leader(leader);
    const electedMs = performance.now();
    const hasCreated = (/** @type {unknown} */ _, /** @type {number} */ at) =>
      traffic.creates.some(({ replica, atMs }) => replica === at && atMs > electedMs);
    await until('creates', () => replicas.every(hasCreated), signal);
    const backMs = performance.now();
    await failing;
    await delay(CALM_MS, undefined, { signal });
    const times = traffic.creates.map(({ atMs }) => atMs);
    const gapsMs = times.map((ms, at) => (ms > fromMs ? ms - (times[at - 1] ?? ms) : 0));
    outcome.add(`${name}: s until the new leader`, (electedMs - fromMs) / 1_000);
    outcome.add(`${name}: s without writes`, Math.max(...gapsMs) / 1_000);
    outcome.add(`${name}: s from the new leader until all work`, (backMs - electedMs) / 1_000);
    const isBack = backMs - electedMs <= BACK_LIMIT_MS;
    outcome.check(isBack, `${name}: back after ${backMs - electedMs} ms`);
    return leader;
  };
  const killed = await rehearseFailure('kill', (leader) => leader.kill());
  killed.start();
  await cluster.waitForStandbys(cluster.machines.length - 1);
  await rehearseFailure('switchover', (leader) =>
    leader.patronictl('switchover', 'pets', '--force'),
  );
  await traffic.stop();
  const database = await cluster.connect('pets');
  const { rows } = await database
    .query('SELECT id FROM pets WHERE created_by_key_id IS NOT NULL')
    .finally(() => database.end());
  const stored = new Set(rows.map(({ id }) => id));
  for (const id of traffic.confirmed.values()) outcome.check(stored.has(id), `${id} is lost`);
  // Each create was repeated until it was confirmed.
  const twice = stored.size - traffic.confirmed.size;
  outcome.check(twice === 0, `${twice} animals more than confirmed creates`);
  outcome.add('confirmed creates', traffic.confirmed.size);
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
