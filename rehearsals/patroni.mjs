// @ts-check
import { execFile, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv, promisify } from 'node:util';
import pg from 'pg';
import { killOnExit } from '../bench/processes/child-processes.mjs';
import { freePort, waitUntilListening } from '../bench/processes/ports.mjs';
import { ROOT } from '../bench/processes/store.mjs';
import { until } from './harness.mjs';

const EXAMPLE = join(ROOT, 'deploy/patroni');
const POSTGRES = '/usr/lib/postgresql';
/** The ports in the example. */
const PORTS = ['2379', '2380', '5432', '8008', '5000'];
const STOP_LIMIT_MS = 20_000;
/** PostgreSQL does not run as root. This is "nobody". */
const USER = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : null;
const PATH = `${process.env.PATH ?? ''}:/usr/sbin`;

/** @typedef {import('node:child_process').ChildProcess} ChildProcess */

/** One machine of deploy/patroni: etcd, Patroni and PostgreSQL, on a loopback address of its own. */
class Machine {
  /** @type {ChildProcess[]} */
  #processes = [];

  /**
   * @param {number} number from 1
   * @param {string} folder is created
   * @param {(text: string) => string} adapt replaces addresses, ports and passwords of the example
   */
  constructor(number, folder, adapt) {
    this.name = `db${number}`;
    this.folder = folder;
    this.data = join(folder, 'data');
    const ofMachine = (/** @type {string} */ file) =>
      adapt(
        readFileSync(join(EXAMPLE, file), 'utf8')
          .replaceAll(/^(\w+=.*)\bdb1$/gm, `$1${this.name}`)
          .replaceAll(/^(?!.*(?:HOSTS|CLUSTER)=)(.*)10\.0\.0\.11:/gm, `$110.0.0.1${number}:`),
      );
    /** @type {NodeJS.Dict<string>} */
    this.env = { PATH, ...parseEnv(ofMachine('patroni.env')), ...parseEnv(ofMachine('etcd.env')) };
    this.env.ETCD_DATA_DIR = join(folder, 'etcd');
    this.config = join(folder, 'patroni.yml');
    const text = ofMachine('patroni.yml')
      .replace('/var/lib/postgresql/15/pets', this.data)
      .replace(/\/usr\/lib\/postgresql\/\d+/, join(POSTGRES, readdirSync(POSTGRES).at(-1) ?? ''))
      .replace('/var/lib/postgresql/.pgpass-patroni', join(folder, 'pgpass'))
      .replace('/var/run/postgresql', folder);
    writeFileSync(this.config, text);
    if (USER) spawnSync('chown', ['-R', `${USER.uid}:${USER.gid}`, folder]);
  }

  start() {
    this.#processes = [this.#spawn('etcd'), this.#spawn('patroni', this.config)];
  }

  /** Whether Patroni's REST API returns 200. @param {string} path */
  async is(path) {
    const url = `http://${this.env.PATRONI_RESTAPI_CONNECT_ADDRESS ?? ''}${path}`;
    const request = fetch(url, { method: 'HEAD', signal: AbortSignal.timeout(1_000) });
    return request.then(({ status }) => status === 200).catch(() => false);
  }

  /** Ends all processes at once, as if the machine lost its power. */
  async kill() {
    for (const child of this.#processes) child.kill('SIGKILL');
    this.#killPostgres();
    await Promise.all(this.#processes.map((child) => ended(child)));
  }

  /** Patroni stops PostgreSQL. */
  async stop() {
    const killTimer = setTimeout(() => void this.kill(), STOP_LIMIT_MS);
    for (const child of this.#processes.reverse()) {
      child.kill('SIGTERM');
      await ended(child);
    }
    clearTimeout(killTimer);
    this.#killPostgres();
  }

  /** @param {string[]} command */
  async patronictl(...command) {
    const args = ['-c', this.config, ...command];
    return (await promisify(execFile)('patronictl', args, { env: { ...this.env } })).stdout;
  }

  /** @param {string} program @param {string[]} args */
  #spawn(program, ...args) {
    const options = { detached: true, cwd: this.folder, env: this.env, ...USER };
    const child = spawn(program, args, { stdio: 'ignore', ...options });
    killOnExit(child);
    return child;
  }

  /** PostgreSQL has a session of its own. */
  #killPostgres() {
    try {
      const [pid] = readFileSync(join(this.data, 'postmaster.pid'), 'utf8').split('\n');
      const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
      for (const each of [pid, ...children.trim().split(' ')])
        process.kill(Number(each), 'SIGKILL');
    } catch {
      // It has ended.
    }
  }
}

/** @param {ChildProcess} child */
async function ended(child) {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
}

/** The three machines and the load balancer of deploy/patroni on loopback addresses. Linux only. */
export class DatabaseCluster {
  /** @param {Machine[]} machines @param {number} port of the load balancer @param {AbortSignal} signal */
  constructor(machines, port, signal) {
    this.machines = machines;
    this.port = port;
    this.signal = signal;
  }

  /**
   * Starts the cluster, calls `work`, and stops all processes.
   *
   * @param {string} folder
   * @param {AbortSignal} signal
   * @param {(cluster: DatabaseCluster) => Promise<void>} work
   * @throws if a Debian package is missing
   */
  static async use(folder, signal, work) {
    for (const program of ['patroni', 'patronictl', 'etcd', 'haproxy']) {
      const { error } = spawnSync(program, ['--version'], { stdio: 'ignore', env: { PATH } });
      if (error)
        throw new Error(`Install patroni, python3-etcd, etcd-server and haproxy: ${error}`);
    }
    /** @type {Map<string, string>} */
    const replacements = new Map();
    for (const port of PORTS) replacements.set(port, String(await freePort()));
    const port = Number(replacements.get('5000'));
    const adapt = (/** @type {string} */ text) =>
      text
        .replaceAll(/(?<=:|port )(?:2379|2380|5432|8008|5000)\b/g, (p) => replacements.get(p) ?? p)
        .replaceAll('10.0.0.', '127.0.0.')
        .replaceAll(/CHANGE-\d/g, (word) => {
          const password = replacements.get(word) ?? randomBytes(12).toString('hex');
          replacements.set(word, password);
          return password;
        });
    const machines = [1, 2, 3].map((number) => {
      const own = join(folder, `db${number}`);
      mkdirSync(own);
      return new Machine(number, own, adapt);
    });
    const config = join(folder, 'haproxy.cfg');
    writeFileSync(config, adapt(readFileSync(join(EXAMPLE, 'haproxy-primary.cfg'), 'utf8')));
    const haproxy = spawn('haproxy', ['-db', '-f', config], { stdio: 'ignore', env: { PATH } });
    killOnExit(haproxy);
    const cluster = new DatabaseCluster(machines, port, signal);
    try {
      await waitUntilListening(port);
      for (const machine of machines) machine.start();
      await cluster.waitForStandbys(machines.length - 1);
      await work(cluster);
    } finally {
      await Promise.all(machines.map((machine) => machine.stop()));
      haproxy.kill();
      await ended(haproxy);
    }
  }

  /** The machines for which Patroni's REST API returns 200. @param {string} path */
  async #thatAre(path) {
    const states = await Promise.all(this.machines.map((machine) => machine.is(path)));
    return this.machines.filter((_, index) => states[index]);
  }

  /** Waits for a leader besides `former`. @param {Machine} [former] */
  leader(former) {
    const find = async () => (await this.#thatAre('/primary')).find((each) => each !== former);
    return until('a leader', find, this.signal);
  }

  /** Waits until standbys stream from the leader, one of them synchronously. @param {number} standbys */
  waitForStandbys(standbys) {
    const areReady = async () =>
      (await this.#thatAre('/replica?lag=1MB')).length >= standbys &&
      (await this.#thatAre('/synchronous')).length > 0;
    return until('standbys', areReady, this.signal);
  }

  /** Connects through the load balancer. @param {string} database @param {string} [user] @param {string} [password] */
  async connect(database, user = 'postgres', password = this.superuserPassword) {
    const client = new pg.Client({ host: '127.0.0.1', port: this.port, user, password, database });
    client.on('error', () => undefined);
    await client.connect();
    return client;
  }

  get superuserPassword() {
    return this.machines[0]?.env.PATRONI_SUPERUSER_PASSWORD ?? '';
  }
}
