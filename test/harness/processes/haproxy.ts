import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { send } from '../http/client.js';
import { type Environment, inheritedEnvironment } from '../service/service.js';
import { freePort } from './free-port.js';
import { HANG_LIMIT_MS } from '../run/until.js';

/** The load balancer's configuration, as docker-compose.yml hands it to the container. */
export const HAPROXY_CONFIG = join(__dirname, '../../../deploy/haproxy.cfg');

/** Returns the command of an installed HAProxy, or undefined with a warning. Only root can run it: it changes its user. */
export function findHaproxy(): string | undefined {
  const commands = ['haproxy', '/usr/sbin/haproxy'];
  const isRoot = process.getuid?.() === 0;
  const found = commands.find((command) => isRoot && spawnSync(command, ['-v']).status === 0);
  if (!found)
    console.warn(
      'To test the load balancer, be root and install haproxy (apt-get install haproxy).',
    );
  return found;
}

export interface Haproxy {
  readonly port: number;
  output(): string;
  stop(): Promise<void>;
}

/** Starts HAProxy with deploy/haproxy.cfg, and waits for a response of a replica through it. */
export async function startHaproxy(command: string, env: Environment): Promise<Haproxy> {
  const port = await freePort();
  const child = spawn(command, ['-db', '-f', HAPROXY_CONFIG], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...inheritedEnvironment(), LISTEN_ADDRESS: `127.0.0.1:${port}`, ...env },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  }
  const stop = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill();
    await exited;
  };
  const deadline = Date.now() + HANG_LIMIT_MS;
  while (!(await isReady(port))) {
    if (child.exitCode === null && Date.now() < deadline) await sleep(50);
    else {
      await stop();
      throw new Error(`HAProxy does not serve:\n${output}`);
    }
  }
  return { port, output: () => output, stop };
}

function isReady(port: number): Promise<boolean> {
  return send({ port }, '/health/ready').then(
    ({ status }) => status === 200,
    () => false,
  );
}
