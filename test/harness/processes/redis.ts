import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { freePort } from './free-port.js';
import { HANG_LIMIT_MS } from '../run/until.js';

const isInstalled = (command: string): boolean =>
  spawnSync(command, ['--version'], { stdio: 'ignore' }).status === 0;

const hasRedis = isInstalled('redis-server');
const hasClock = hasRedis && process.platform === 'linux' && isInstalled('faketime');

/**
 * Describes tests that start servers of their own; without the program they are skipped, and it is
 * said what to install.
 */
export const describeWithRedis = hasRedis ? describe : describe.skip;
/** As describeWithRedis, for tests that make do with TEST_REDIS_URL. */
export const describeWithAnyRedis =
  hasRedis || process.env['TEST_REDIS_URL'] ? describe : describe.skip;
/** As describeWithRedis, for tests that set the server's clock. */
export const describeWithRedisClock = hasClock ? describe : describe.skip;

if (!hasClock) {
  const missing = hasRedis ? 'faketime' : 'redis-server and faketime';
  console.warn(`To test the counters in Redis, install ${missing} (apt-get install).`);
}

export interface RedisServer {
  readonly port: number;
  readonly url: string;
  /** For the test's own commands. */
  readonly client: Redis;
  /** Sends a signal to the server; SIGKILL is waited for. */
  signal(name: NodeJS.Signals): Promise<void>;
  /** Starts it again, empty, on the same port. */
  start(): Promise<void>;
  /**
   * Sets the clock of a server that was started with one.
   *
   * @param nowMs milliseconds since the epoch
   */
  setClock(nowMs: number): void;
  close(): Promise<void>;
}

/** A Redis that a test neither starts nor harms: that of TEST_REDIS_URL, else one of its own. */
export async function openRedis(): Promise<Pick<RedisServer, 'url' | 'client' | 'close'>> {
  const url = process.env['TEST_REDIS_URL'];
  if (!url) return startRedis();
  const client = new Redis(url, { lazyConnect: true });
  return { url, client, close: () => Promise.resolve(client.disconnect()) };
}

interface ServerOptions {
  args?: string[];
  /** Where the server's clock stands, until it is set; by default it has the machine's. */
  nowMs?: number;
  /** Leaves it to start() to start the server. */
  absent?: boolean;
  tls?: { key: string; certificate: string } | undefined;
  password?: string;
}

/** Starts a Redis server of its own. `close` stops it and removes its files. */
export async function startRedis(options: ServerOptions = {}): Promise<RedisServer> {
  const { args = [], nowMs, absent, tls, password } = options;
  const port = await freeClusterPort();
  const folder = mkdtempSync(join(tmpdir(), 'pets-redis-'));
  const clockFile = join(folder, 'clock');
  const setClock = (ms: number): void => writeFileSync(clockFile, asTimestamp(ms));
  if (nowMs !== undefined) setClock(nowMs);
  const env = nowMs === undefined ? process.env : { ...process.env, ...clockFrom(clockFile) };
  const standard = ['--save', '', '--appendonly', 'no', '--dir', folder];
  let server: ChildProcess | undefined;
  const start = async (): Promise<void> => {
    server = spawn('redis-server', [...standard, ...portArguments(port, tls), ...args], {
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await untilReady(server);
  };
  if (!absent) await start();
  const client = new Redis(port, {
    lazyConnect: true,
    retryStrategy: () => 50,
    ...(tls && { tls: { rejectUnauthorized: false } }),
    ...(password !== undefined && { password }),
  });
  client.on('error', () => undefined);
  const signal = async (name: NodeJS.Signals): Promise<void> => {
    if (server?.exitCode !== null || server.signalCode !== null) return;
    const exited = name === 'SIGKILL' ? once(server, 'exit') : undefined;
    server.kill(name);
    await exited;
  };
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    client,
    signal,
    start,
    setClock,
    close: async () => {
      client.disconnect();
      await signal('SIGKILL');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Servers that share all slots. */
export interface RedisCluster {
  readonly nodes: RedisServer[];
  /**
   * Waits until every node considers all nodes alive. The others reject a restarted node for a
   * moment.
   */
  agreed(): Promise<void>;
  /** The nodes' addresses, as REDIS_URL takes them. */
  readonly url: string;
  close(): Promise<void>;
}

/** Starts three of them, with the password in all. `url` does not have it. */
export async function startRedisCluster({
  args: extra = [],
  tls,
  password = '',
}: Pick<ServerOptions, 'args' | 'tls' | 'password'> = {}): Promise<RedisCluster> {
  // A busy machine can pause a node for a second, and a cluster with a failed node accepts no commands.
  const timing = ['--cluster-node-timeout', '10000', '--repl-diskless-sync-delay', '0'];
  const secured = tls ? ['--tls-cluster', 'yes', '--tls-ca-cert-file', tls.certificate] : [];
  const own = ['--cluster-enabled', 'yes', '--requirepass', password, ...timing, ...secured];
  const startNode = () => startRedis({ args: [...own, ...extra], tls, password });
  const nodes = await Promise.all([startNode(), startNode(), startNode()]);
  const [first] = nodes;
  for (const [index, { client, port }] of nodes.entries()) {
    const from = Math.ceil((index * 16_384) / 3);
    const to = Math.ceil(((index + 1) * 16_384) / 3) - 1;
    await client.call('CLUSTER', 'ADDSLOTSRANGE', from, to);
    await client.call('CLUSTER', 'SET-CONFIG-EPOCH', index + 1);
    await first.client.call('CLUSTER', 'MEET', '127.0.0.1', port);
  }
  const knowsAll = /cluster_state:ok[^]*cluster_known_nodes:3/;
  await Promise.all(nodes.map(({ client }) => waitForReply(client, ['CLUSTER', 'INFO'], knowsAll)));
  return {
    nodes,
    url: nodes.map(({ url }) => url).join(','),
    agreed: async () => {
      const allAlive = /cluster_state:ok[^]*cluster_slots_ok:16384/;
      for (const { client } of nodes) await waitForReply(client, ['CLUSTER', 'INFO'], allAlive);
    },
    close: async () => {
      await Promise.all(nodes.map((node) => node.close()));
    },
  };
}

/** Sends a command until its reply has an expected form. @throws Error after the time limit */
export async function waitForReply(
  client: Redis,
  [command, ...args]: [string, ...string[]],
  expected: RegExp,
  limitMs = HANG_LIMIT_MS,
): Promise<void> {
  const deadline = performance.now() + limitMs;
  while (!expected.test(String(await client.call(command, ...args)))) {
    if (performance.now() > deadline) throw new Error(`${command} does not return ${expected}`);
    await delay(20);
  }
}

function portArguments(port: number, tls: ServerOptions['tls']): string[] {
  if (!tls) return ['--port', String(port)];
  const files = ['--tls-cert-file', tls.certificate, '--tls-key-file', tls.key];
  return ['--port', '0', '--tls-port', String(port), ...files, '--tls-auth-clients', 'no'];
}

/** Returns a port whose Cluster bus, 10,000 above it, is a port too. */
async function freeClusterPort(): Promise<number> {
  const port = await freePort();
  return port < 55_000 ? port : freeClusterPort();
}

async function untilReady(server: ChildProcess): Promise<void> {
  const lines = createInterface({ input: server.stdout! });
  let output = '';
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.once('exit', (code) => reject(new Error(`redis-server ended with ${code}:\n${output}`)));
    lines.on('line', (line) => {
      output += `${line}\n`;
      if (line.includes('Ready to accept connections')) resolve();
    });
  });
}

/** libc's allocator goes first: with that of redis-server, jemalloc, faketime does not start. */
function clockFrom(file: string): Record<string, string> {
  const env = execFileSync('faketime', ['2000-01-01', 'env'], { encoding: 'utf8' });
  const library = /^LD_PRELOAD=(.*)$/m.exec(env)?.[1] ?? '';
  return {
    LD_PRELOAD: `${library} libc.so.6`,
    FAKETIME_TIMESTAMP_FILE: file,
    FAKETIME_NO_CACHE: '1',
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
    TZ: 'UTC',
  };
}

/** In the middle of a millisecond: faketime computes with binary fractions. */
function asTimestamp(ms: number): string {
  return new Date(ms).toISOString().replace('T', ' ').replace('Z', '5');
}
