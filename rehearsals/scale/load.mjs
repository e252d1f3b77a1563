// @ts-check
import { setTimeout as delay } from 'node:timers/promises';
import { SERVICE } from '../../bench/comparison/peers.mjs';
import { LoadGenerator } from '../../bench/load/load.mjs';
import { startPeer } from '../../bench/processes/peer-process.mjs';
import { freePort } from '../../bench/processes/ports.mjs';
import { cpuSeconds } from '../../bench/processes/process-usage.mjs';

/** SIGUSR2 then collects garbage. */
const FLAGS = ['--expose-gc', '--import=data:text/javascript,process.on("SIGUSR2",()=>gc())'];
const CONNECTIONS = 32;
const COLLECTION_MS = 500;

/**
 * @typedef {object} Setup of one store
 * @property {{ animals: number, owners: number, replicas: number, runs: number, seconds: number }} size
 * @property {import('./server.mjs').Server} server
 * @property {{ url: string, pid: number }} redis
 * @property {string} database
 * @property {string} folder for temporary files
 * @property {AbortSignal} signal
 * @property {import('./report.mjs').Report} report
 * @property {(figure: string, value: number) => void} add adds a sample to the report
 * @property {(phase: string) => void} say prints the phase that begins
 */

/** @typedef {Awaited<ReturnType<typeof startReplica>>} Replica */

/** @param {Setup} setup @param {number} number */
async function startReplica({ server, database, redis, folder, signal }, number) {
  const metricsPort = await freePort();
  const env = { ...SERVICE.env, METRICS_PORT: String(metricsPort), REDIS_URL: redis.url };
  const flags = [...(SERVICE.flags ?? []), ...FLAGS];
  const peer = { ...SERVICE, name: `${database}-${number}`, env, flags };
  const store = { env: server.envOf(database), keys: { rejected: '' } };
  const replica = await startPeer(peer, /** @type {any} */ ({ folder, store }), signal);
  /** Collects garbage and returns the size of the heap. */
  const heapBytes = async () => {
    process.kill(replica.pid, 'SIGUSR2');
    await delay(COLLECTION_MS);
    const metrics = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
    return Number(/^nodejs_heap_size_used_bytes (\S+)$/m.exec(metrics)?.[1]);
  };
  return { ...replica, heapBytes };
}

/** Sends requests to replicas, and measures their CPU time. */
export class Load {
  /** @param {Setup} setup @param {string} key @param {Replica[]} replicas */
  constructor(setup, key, replicas) {
    this.setup = setup;
    this.key = key;
    this.replicas = replicas;
    this.generator = new LoadGenerator(setup.folder, setup.signal);
  }

  /** @param {Setup} setup @param {string} key @param {number} count @param {(load: Load) => Promise<void>} work */
  static async withReplicas(setup, key, count, work) {
    /** @type {Replica[]} */
    const replicas = [];
    try {
      while (replicas.length < count) replicas.push(await startReplica(setup, replicas.length));
      await work(new Load(setup, key, replicas));
    } finally {
      await Promise.all(replicas.map((replica) => replica.stop()));
    }
  }

  /**
   * Sends the same request over all connections to all replicas.
   *
   * @param {string} path @param {string} [body] sent with POST
   * @returns {Promise<number>} requests @throws after another response than 200 or 201
   */
  async send(path, body) {
    const type = body === undefined ? {} : { 'Content-Type': 'application/json' };
    const request = {
      headers: { Authorization: `Bearer ${this.key}`, ...type },
      status: body === undefined ? 200 : 201,
      ...(body !== undefined && { body }),
    };
    const connections = Math.ceil(CONNECTIONS / this.replicas.length);
    const limits = { connections, seconds: this.setup.size.seconds };
    const results = await Promise.all(
      this.replicas.map(({ port }) =>
        this.generator.run({ ...request, url: `http://127.0.0.1:${port}${path}` }, limits),
      ),
    );
    const failed = results.flatMap(({ others }) => Object.values(others)).some((n) => n > 0);
    if (failed) throw new Error(JSON.stringify(results));
    return results.reduce((sum, { requests }) => sum + requests, 0);
  }

  /**
   * Adds the CPU time per request, in µs.
   *
   * @param {string} name @param {() => Promise<number>} send returns the number of requests
   * @returns {Promise<number>} of the replicas and PostgreSQL
   */
  async addCost(name, send) {
    const { server, redis, add } = this.setup;
    const usage = () => ({
      replica: this.replicas.reduce((sum, { pid }) => sum + cpuSeconds(pid), 0),
      PostgreSQL: cpuSeconds(server.pid),
      Redis: cpuSeconds(redis.pid),
      time: performance.now() / 1_000,
    });
    const before = usage();
    const requests = await send();
    const after = usage();
    /** @param {keyof typeof after} of */
    const cost = (of) => ((after[of] - before[of]) * 1e6) / requests;
    for (const of of /** @type {const} */ (['replica', 'PostgreSQL', 'Redis'])) {
      add(`${name}: CPU of ${of}, µs`, cost(of));
    }
    add(`${name}: requests per second`, 1e6 / cost('time'));
    return cost('replica') + cost('PostgreSQL');
  }
}
