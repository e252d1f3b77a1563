// @ts-check
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const PROGRAM = fileURLToPath(new URL('counter-memory.mjs', import.meta.url));
/** Of an owner: the minute and the day. */
const COUNTERS = 2;
const OWNERS = 1_000_000;

/**
 * Returns the memory of the counters of a million idle owners, in bytes.
 *
 * @param {AbortSignal} signal ends it
 */
export async function measureCounters(signal) {
  const args = ['--expose-gc', PROGRAM, '--json'];
  const { stdout } = await promisify(execFile)(process.execPath, args, { signal });
  const { ownerBytes } = JSON.parse(stdout);
  return { idleOwnersBytes: ownerBytes, bytesPerCounter: ownerBytes / OWNERS / COUNTERS };
}
