// @ts-check
// Kills a master of a Redis Cluster, gives its role back, moves slots, adds a node and removes it, while two
// replicas of the service count many owners. Needs redis-server 7. Usage: npm run rehearse:redis-cluster -- --help
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Redis } from 'ioredis';
import { killOnExit } from '../bench/processes/child-processes.mjs';
import { withEnvironment } from '../bench/processes/environment.mjs';
import { freePort, waitUntilListening } from '../bench/processes/ports.mjs';
import { createOwners, listOnce, rehearse, until, withReplicas } from './harness.mjs';

const REPLICAS = 2;
const OWNERS = 300;
const PAUSE_MS = 5;
const MOVED_SLOTS = '600';
/** The port of the Cluster bus is 10,000 above it. */
const MAX_PORT = 55_000;
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
/** The settings in docs/redis.md. A replica starts to copy its master at once. */
const NODE_SETTINGS = [
  '--cluster-enabled',
  'yes',
  '--cluster-node-timeout',
  '5000',
  '--cluster-require-full-coverage',
  'no',
  '--maxmemory-policy',
  'noeviction',
  '--save',
  '',
  '--appendonly',
  'no',
  '--repl-diskless-sync-delay',
  '0',
];

/** @typedef {Awaited<ReturnType<typeof startNode>>} Node */
/** @typedef {import('./harness.mjs').Owner} Owner */

/** @param {string} parent folder @param {number} [port] of a node that was killed */
async function startNode(parent, port = Infinity) {
  while (port > MAX_PORT) port = await freePort();
  const folder = join(parent, `redis-${port}`);
  mkdirSync(folder, { recursive: true });
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, ...NODE_SETTINGS];
  const child = spawn('redis-server', args, { stdio: 'ignore' });
  killOnExit(child, 'SIGKILL');
  const exited = once(child, 'exit');
  await waitUntilListening(port);
  const client = new Redis(port, '127.0.0.1', { retryStrategy: null });
  client.on('error', () => undefined);
  const kill = async () => {
    client.disconnect();
    if (child.kill('SIGKILL')) await exited;
  };
  const id = String(await client.call('CLUSTER', 'MYID'));
  return { port, address: `127.0.0.1:${port}`, id, client, kill };
}

/** @param {string[]} command */
const redisCli = (...command) => promisify(execFile)('redis-cli', ['--cluster', ...command]);

/** @param {Node} node */
const isMaster = async ({ client }) => (await client.role())[0] === 'master';

/** Waits until every master has a replica with its data. @param {Node[]} nodes */
const untilReplicated = (nodes) =>
  until('each master has a replica', async () => {
    const states = await Promise.all(nodes.map(({ client }) => client.info('replication')));
    return states.every((state) => /state=online|master_link_status:up/.test(state));
  });

/** Waits until each node sees a node as a master or replica. @param {Node[]} nodes @param {Node} node @param {'master' | 'slave'} role */
function untilAllSee(nodes, { id, client: own }, role) {
  const line = new RegExp(`^${id} \\S+ (?:myself,)?${role} .* connected`, 'm');
  return until(`all see the ${role} ${id}`, async () => {
    const views = await Promise.all(nodes.map(({ client }) => client.cluster('NODES')));
    // A new node takes no slots for some seconds.
    const isReady = (await own.cluster('INFO')).includes('cluster_state:ok');
    return isReady && views.every((view) => line.test(String(view)));
  });
}

/** Moves slots as an operator does. @param {Node} any @param {string} from id @param {string} to id */
async function reshard({ address }, from, to) {
  await until('the nodes agree', () => redisCli('check', address).then(Boolean, () => false));
  const slots = ['--cluster-from', from, '--cluster-to', to, '--cluster-slots', MOVED_SLOTS];
  await redisCli('reshard', address, ...slots, '--cluster-yes');
}

/**
 * Kills a master, gives its role back, and moves slots, under load.
 *
 * @param {string} folder of the nodes and of the logs @param {Node[]} nodes
 * @param {import('./harness.mjs').Replica[]} replicas @param {Owner[]} owners
 * @param {import('./harness.mjs').Outcome} outcome
 */
async function changeCluster(folder, nodes, replicas, owners, outcome) {
  const timesOfLocalCounting = () =>
    replicas.flatMap(({ name }) => {
      /** @type {{ from: number, to: number }[]} */
      const times = [];
      for (const line of readFileSync(join(folder, `${name}.log`), 'utf8').split('\n')) {
        if (!line.includes('Counting rate limits in')) continue;
        const { time, msg } = JSON.parse(line);
        const last = times.at(-1);
        if (!msg.endsWith('in Redis again')) times.push({ from: Date.parse(time), to: Date.now() });
        else if (last) last.to = Date.parse(time);
      }
      return times;
    });

  /** Does something while each owner in turn sends a list to each replica in turn. @param {string} title @param {() => Promise<unknown>} act */
  const step = async (title, act) => {
    const startedAtMs = Date.now();
    const load = { isOver: false };
    const sending = (async () => {
      /** @type {Promise<void>[]} */
      const requests = [];
      for (let turn = 0; !load.isOver; turn++, await delay(PAUSE_MS)) {
        const owner = /** @type {Owner} */ (owners[turn % OWNERS]);
        const replica = replicas[(turn + Math.floor(turn / OWNERS)) % REPLICAS];
        const request = listOnce(replica?.port ?? 0, owner).then((status) =>
          outcome.check(status === 200, `${title}: a request got ${status}`),
        );
        requests.push(request);
      }
      await Promise.all(requests);
    })();
    await delay(MARGIN_MS);
    await act().finally(async () => {
      await delay(MARGIN_MS);
      load.isOver = true;
      await sending;
    });
    const times = timesOfLocalCounting().filter(({ from }) => from >= startedAtMs);
    const endedAtMs = Math.max(...times.map(({ to }) => to));
    const localMs = times.length === 0 ? 0 : endedAtMs - Math.min(...times.map(({ from }) => from));
    outcome.add(`${title}: ms in which owners were not counted together`, localMs);
    return { localMs, endedAtMs };
  };

  /** A step in which no replica may count on its own, and no count may be lost or repeated. @param {string} title @param {() => Promise<unknown>} act */
  const exactly = async (title, act) => {
    const before = new Map(owners.map((owner) => [owner, Math.max(0, ...owner.used)]));
    for (const owner of owners) owner.used = [];
    const { localMs } = await step(title, act);
    const wrong = owners.filter((owner) => {
      const [first = 0] = owner.used.sort((a, b) => a - b);
      const isFirst = title === 'planned failover' || first === (before.get(owner) ?? 0) + 1;
      return !isFirst || owner.used.some((count, index) => count !== first + index);
    });
    outcome.check(localMs === 0, `${title}: not counted together for ${localMs} ms`);
    outcome.check(wrong.length === 0, `${title}: ${wrong.length} owners not exact`);
  };

  const [master, second] = nodes;
  if (!master || !second) throw new Error('no nodes');
  const others = nodes.filter((node) => node !== master);
  const masters = async () => (await Promise.all(others.map(isMaster))).filter(Boolean).length;
  const before = await masters();
  let promotedAtMs = 0;
  const { endedAtMs } = await step('killed master', async () => {
    await master.kill();
    nodes.splice(nodes.indexOf(master), 1);
    await until('a promotion', async () => (await masters()) > before);
    promotedAtMs = Date.now();
    await delay(BACK_WITHIN_MS);
  });
  const backMs = Math.max(0, endedAtMs - promotedAtMs);
  outcome.add('killed master: ms from the promotion until counted together', backMs);
  outcome.check(backMs <= BACK_WITHIN_MS, `killed master: back ${backMs} ms late`);

  const restarted = await startNode(folder, master.port);
  nodes.push(restarted);
  await untilAllSee(nodes, restarted, 'slave');
  await untilReplicated(nodes);
  await exactly('planned failover', async () => {
    await restarted.client.cluster('FAILOVER');
    await until('the failover', () => isMaster(restarted));
  });
  const added = await startNode(folder);
  nodes.push(added);
  await exactly('slots moved to a new node and back', async () => {
    await redisCli('add-node', added.address, second.address);
    await untilAllSee(nodes, added, 'master');
    await reshard(second, 'all', added.id);
    await reshard(second, added.id, second.id);
    await delay(REFRESH_MS);
    await redisCli('del-node', second.address, added.id);
  });
}

await rehearse('redis-cluster', 'Changes a Redis Cluster under load.', (outcome, signal) =>
  withEnvironment({ animals: 100 }, signal, async (environment) => {
    const { folder, store } = environment;
    /** @type {Node[]} */
    const nodes = [];
    const killAll = () => Promise.all(nodes.map(({ kill }) => kill()));
    // Then every command to a node fails, which ends the run.
    signal.addEventListener('abort', () => void killAll(), { once: true });
    try {
      while (nodes.length < 6) nodes.push(await startNode(folder));
      const addresses = nodes.map(({ address }) => address);
      await redisCli('create', ...addresses, '--cluster-replicas', '1', '--cluster-yes');
      await untilReplicated(nodes);
      const env = { ...SETTINGS, REDIS_URL: addresses.map((each) => `redis://${each}`).join() };
      const owners = await createOwners(store.database, OWNERS);
      await withReplicas(REPLICAS, environment, env, signal, (replicas) =>
        changeCluster(folder, nodes, replicas, owners, outcome),
      );
    } finally {
      await killAll();
    }
  }),
);
