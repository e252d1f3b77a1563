// @ts-check
// Kills a master of a Redis Cluster, gives its role back, moves slots, adds a node and removes it, while two
// replicas of the service count many owners. Needs redis-server 7. Usage: npm run rehearse:redis-cluster -- --help
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { withEnvironment } from '../bench/processes/environment.mjs';
import * as redis from './redis/cluster-nodes.mjs';
import { createOwners, OwnerTraffic } from './redis/owner-traffic.mjs';
import { startReplicas, stopReplicas } from './replicas.mjs';
import { rehearse } from './runs.mjs';

const REPLICAS = 2;
const LARGE_OWNERS = 270;
/** Owners that reach their limit while each replica counts on its own. They send half of the requests. */
const SMALL_OWNERS = 30;
const SMALL_LIMIT = 15;
const MOVED_SLOTS = '600';
/** From the promotion of a node until both replicas of the service count in Redis. */
const BACK_WITHIN_MS = 3_000;
/** Within this time, the service notices that a node has no slots any more. */
const REFRESH_MS = 6_000;
/** Load before and after each step. */
const MARGIN_MS = 1_500;
/** Only a failure of Redis causes a timeout, not a busy machine. */
const SETTINGS = {
  REDIS_COMMAND_TIMEOUT_SECONDS: '0.5',
  DATABASE_POOL_WAIT_SECONDS: '20',
  DATABASE_STATEMENT_TIMEOUT_SECONDS: '20',
};

/** @typedef {import('./redis/cluster-nodes.mjs').Node} Node */

class Rehearsal {
  /** @type {Record<string, number>} */
  figures = { 'failed requests': 0 };
  /** @type {string[]} */
  broken = [];

  /**
   * @param {string} folder of the nodes and of the logs
   * @param {Node[]} nodes
   * @param {import('./replicas.mjs').Replica[]} replicas
   * @param {import('./redis/owner-traffic.mjs').Owner[]} large
   * @param {import('./redis/owner-traffic.mjs').Owner[]} small
   */
  constructor(folder, nodes, replicas, large, small) {
    this.folder = folder;
    this.nodes = nodes;
    this.replicas = replicas;
    this.owners = [...large, ...small];
    this.turns = large.flatMap((owner, index) => [owner, small[index % small.length] ?? owner]);
  }

  async run() {
    const [first, second] = this.nodes;
    if (!first || !second) throw new Error('no nodes');
    await this.#killMaster(first, await redis.replicaOf(first, this.nodes));

    const restarted = await redis.startNode(this.folder, first.port);
    this.nodes.push(restarted);
    await redis.untilAllSee(this.nodes, restarted, 'slave');
    await redis.untilReplicated(this.nodes);
    await this.#exactly('planned failover', async () => {
      await restarted.client.cluster('FAILOVER');
      await redis.until('the failover', () => redis.isMaster(restarted));
    });
    await this.#exactly('slots moved', () => reshard(second, restarted.id, second.id));
    const added = await redis.startNode(this.folder);
    await this.#exactly('node added', async () => {
      await redis.redisCli('--cluster', 'add-node', added.address, second.address);
      this.nodes.push(added);
      await redis.untilAllSee(this.nodes, added, 'master');
      await reshard(second, 'all', added.id);
    });
    await this.#exactly('node removed', async () => {
      await reshard(second, added.id, second.id);
      await delay(REFRESH_MS);
      this.nodes = this.nodes.filter((node) => node !== added);
      await added.kill();
      for (const { client } of this.nodes) await client.cluster('FORGET', added.id);
    });
    return { figures: this.figures, broken: this.broken };
  }

  /** @param {Node} master @param {Node} heir its replica */
  async #killMaster(master, heir) {
    let promotedAtMs = 0;
    const { localMs, endedAtMs } = await this.#step('killed master', async () => {
      await master.kill();
      this.nodes = this.nodes.filter((node) => node !== master);
      const reported = new Map(this.owners.map(({ id, used }) => [id, Math.max(0, ...used)]));
      await heir.client.readonly();
      const replicated = await redis.countsIn([heir]);
      let lost = 0;
      for (const [id, used] of replicated) lost += Math.max(0, (reported.get(id) ?? 0) - used);
      this.figures['killed master: counts lost with it'] = lost;
      await redis.until('a promotion', () => redis.isMaster(heir));
      promotedAtMs = Date.now();
      await delay(BACK_WITHIN_MS);
    });
    const backMs = endedAtMs - promotedAtMs;
    const share = Math.max(...this.owners.map(({ allowed, limit }) => allowed / limit));
    this.figures['killed master: ms until the promotion'] = localMs - backMs;
    this.figures['killed master: ms from the promotion until counted together'] = backMs;
    this.figures['killed master: largest multiple of its limit that an owner got'] = share;
    if (backMs > BACK_WITHIN_MS)
      this.broken.push(`killed master: counted together ${backMs} ms late`);
    // Redis does not learn what each replica has counted: afterwards, the owner has the rest once more.
    if (share > REPLICAS + 1) this.broken.push(`an owner got ${share} times its limit`);
  }

  /** A step in which no replica may count on its own, and no count may be lost or repeated. @param {string} title @param {() => Promise<unknown>} act */
  async #exactly(title, act) {
    const before = await this.#counts();
    const { localMs } = await this.#step(title, act);
    const after = await this.#counts();
    let wrong = 0;
    for (const { id, used } of this.owners) {
      const first = (before.get(id) ?? 0) + 1;
      const isExact = used.sort((a, b) => a - b).every((count, index) => count === first + index);
      if (!isExact || (after.get(id) ?? 0) !== first - 1 + used.length) wrong++;
    }
    this.figures[`${title}: owners that were not counted exactly`] = wrong;
    if (localMs > 0) this.broken.push(`${title}: not counted together for ${localMs} ms`);
    if (wrong > 0) this.broken.push(`${title}: ${wrong} owners were not counted exactly`);
  }

  /** Does something under load. @param {string} title @param {() => Promise<unknown>} act */
  async #step(title, act) {
    for (const owner of this.owners) owner.used = [];
    const startedAtMs = Date.now();
    const traffic = new OwnerTraffic(this.turns, this.replicas);
    try {
      await delay(MARGIN_MS);
      await act();
      await delay(MARGIN_MS);
    } finally {
      await traffic.stop();
    }
    for (const [status, count] of Object.entries(traffic.statuses)) {
      if (status === '200' || status === '429') continue;
      this.figures['failed requests'] = (this.figures['failed requests'] ?? 0) + count;
      this.broken.push(`${title}: ${count} requests got ${status}`);
    }
    const times = this.#timesOfLocalCounting(startedAtMs);
    const endedAtMs = Math.max(...times.map(({ to }) => to));
    const localMs = times.length === 0 ? 0 : endedAtMs - Math.min(...times.map(({ from }) => from));
    this.figures[`${title}: ms in which owners were not counted together`] = localMs;
    return { localMs, endedAtMs };
  }

  /** @param {number} sinceMs */
  #timesOfLocalCounting(sinceMs) {
    return this.replicas.flatMap(({ name }) => {
      const lines = readFileSync(join(this.folder, `${name}.log`), 'utf8').split('\n');
      /** @type {{ from: number, to: number }[]} */
      const times = [];
      for (const line of lines) {
        if (!line.includes('Counting rate limits in')) continue;
        const { time, msg } = JSON.parse(line);
        const last = times.at(-1);
        if (!msg.endsWith('in Redis again')) times.push({ from: Date.parse(time), to: Date.now() });
        else if (last) last.to = Date.parse(time);
      }
      return times.filter(({ from }) => from >= sinceMs);
    });
  }

  /** The requests that the masters have counted, by owner. */
  async #counts() {
    const are = await Promise.all(this.nodes.map(redis.isMaster));
    return redis.countsIn(this.nodes.filter((_, index) => are[index]));
  }
}

/** @param {import('../bench/processes/environment.mjs').Environment} environment @param {AbortSignal} signal */
async function rehearseOnce(environment, signal) {
  const { database } = environment.store;
  // Then every command to a node fails, which ends the run.
  signal.addEventListener('abort', () => void redis.killNodes(), { once: true });
  /** @type {Node[]} */
  const nodes = [];
  while (nodes.length < 6) nodes.push(await redis.startNode(environment.folder));
  const addresses = nodes.map(({ address }) => address);
  const replicated = ['--cluster-replicas', '1', '--cluster-yes'];
  await redis.redisCli('--cluster', 'create', ...addresses, ...replicated);
  await redis.untilReplicated(nodes);
  const REDIS_URL = addresses.map((address) => `redis://${address}`).join();
  const env = { ...SETTINGS, REDIS_URL };
  const replicas = await startReplicas(REPLICAS, environment, env, signal);
  try {
    const large = await createOwners(database, LARGE_OWNERS, 1_000_000);
    const small = await createOwners(database, SMALL_OWNERS, SMALL_LIMIT);
    return await new Rehearsal(environment.folder, nodes, replicas, large, small).run();
  } finally {
    await stopReplicas(replicas);
  }
}

/** Moves slots as an operator does. @param {Node} any @param {string} from id @param {string} to id */
async function reshard({ address }, from, to) {
  await redis.until('the nodes agree', () =>
    redis.redisCli('--cluster', 'check', address).then(
      () => true,
      () => false,
    ),
  );
  const slots = ['--cluster-from', from, '--cluster-to', to, '--cluster-slots', MOVED_SLOTS];
  await redis.redisCli('--cluster', 'reshard', address, ...slots, '--cluster-yes');
}

await rehearse('redis-cluster', 'Changes a Redis Cluster under load.', (signal) =>
  withEnvironment({ animals: 100 }, signal, (environment) =>
    rehearseOnce(environment, signal).finally(redis.killNodes),
  ),
);
