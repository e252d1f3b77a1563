// @ts-check
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Redis } from 'ioredis';
import { killOnExit } from '../../bench/processes/child-processes.mjs';
import { freePort, waitUntilListening } from '../../bench/processes/ports.mjs';

const WAIT_LIMIT_MS = 60_000;
/** The port of the Cluster bus is 10,000 above it. */
const MAX_PORT = 55_000;
/** The settings in docs/limits.md. A replica starts to copy its master at once. */
const SETTINGS = [
  ...['--cluster-enabled', 'yes', '--cluster-node-timeout', '5000'],
  ...['--cluster-require-full-coverage', 'no', '--maxmemory-policy', 'noeviction'],
  ...['--save', '', '--appendonly', 'no', '--repl-diskless-sync-delay', '0'],
];

/** @typedef {{ port: number, address: string, id: string, client: Redis, kill: () => Promise<void> }} Node */

/** Those that were started. @type {Node[]} */
const started = [];

/** @param {string} parent folder @param {number} [port] of a node that was killed @returns {Promise<Node>} */
export async function startNode(parent, port = Infinity) {
  while (port > MAX_PORT) port = await freePort();
  const folder = join(parent, `redis-${port}`);
  mkdirSync(folder, { recursive: true });
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, ...SETTINGS];
  const child = spawn('redis-server', args, { stdio: 'ignore' });
  killOnExit(child, 'SIGKILL');
  const exited = once(child, 'exit');
  await waitUntilListening(port);
  const client = new Redis(port, '127.0.0.1', { retryStrategy: null });
  client.on('error', () => undefined);
  const kill = async () => {
    client.disconnect();
    child.kill('SIGKILL');
    await exited;
  };
  const id = String(await client.call('CLUSTER', 'MYID'));
  const node = { port, address: `127.0.0.1:${port}`, id, client, kill };
  started.push(node);
  return node;
}

export async function killNodes() {
  await Promise.all(started.splice(0).map(({ kill }) => kill()));
}

/** Runs a command for operators. @param {string[]} command */
export async function redisCli(...command) {
  await promisify(execFile)('redis-cli', command).catch((/** @type {unknown} */ error) => {
    const { stdout } = /** @type {{ stdout: string }} */ (error);
    throw new Error(`redis-cli ${command.join(' ')}: ${stdout.slice(-500)}`);
  });
}

/** @param {string} title @param {() => Promise<boolean>} condition */
export async function until(title, condition) {
  for (
    const deadlineMs = performance.now() + WAIT_LIMIT_MS;
    !(await condition());
    await delay(20)
  ) {
    if (performance.now() > deadlineMs) throw new Error(`not within a minute: ${title}`);
  }
}

/** @param {Node} node */
export const isMaster = async ({ client }) => (await client.role())[0] === 'master';

/** @param {Node} master @param {Node[]} nodes */
export async function replicaOf(master, nodes) {
  for (const node of nodes) {
    const [role, , port] = await node.client.role();
    if (role === 'slave' && port === master.port) return node;
  }
  throw new Error(`${master.address} has no replica`);
}

/** Waits until every master has a replica with its data. @param {Node[]} nodes */
export function untilReplicated(nodes) {
  return until('each master has a replica', async () => {
    const states = await Promise.all(nodes.map(({ client }) => client.info('replication')));
    return states.every((state) => /state=online|master_link_status:up/.test(state));
  });
}

/** Waits until each node sees a node as a master or replica. @param {Node[]} nodes @param {Node} node @param {'master' | 'slave'} role */
export function untilAllSee(nodes, { id, client: own }, role) {
  const line = new RegExp(`^${id} \\S+ (?:myself,)?${role} .* connected`, 'm');
  return until(`all see the ${role} ${id}`, async () => {
    const views = await Promise.all(nodes.map(({ client }) => client.cluster('NODES')));
    // A new node takes no slots for some seconds.
    const isReady = (await own.cluster('INFO')).includes('cluster_state:ok');
    return isReady && views.every((view) => line.test(String(view)));
  });
}

/**
 * Returns the requests of the day that nodes have counted, by owner.
 *
 * @param {Node[]} nodes
 */
export async function countsIn(nodes) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const { client } of nodes) {
    for (const key of await client.keys('aas:{owner:*}')) {
      const id = /owner:(\d+)/.exec(key)?.[1];
      const used = parseInt((await client.hget(key, 'day')) ?? '');
      if (id !== undefined && used > 0) counts.set(id, used);
    }
  }
  return counts;
}
