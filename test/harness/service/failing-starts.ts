import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { NODE } from '../processes/node.js';
import { HANG_LIMIT_MS } from '../run/until.js';
import { type Environment, inheritedEnvironment, PATIENT } from './service.js';

const SCRIPT = join(__dirname, '../../../reports/product/test/harness/programs/failing-starts.js');

/** Why a start has failed; null if it has not. */
export type Failure = [type: string, message: string] | null;

/** Starts the service with each environment, in one process, because loading the code takes the most time. */
export async function failuresOf(envs: readonly Environment[]): Promise<Failure[]> {
  const all = envs.map((env) => ({ ...PATIENT, PORT: '0', METRICS_PORT: '', ...env }));
  const [node, ...options] = NODE;
  const child = spawn(node, [...options, SCRIPT, JSON.stringify(all)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: inheritedEnvironment(),
    timeout: 2 * HANG_LIMIT_MS,
  });
  return JSON.parse(await text(child.stdout)) as Failure[];
}
