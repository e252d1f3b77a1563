// @ts-check
import { setMaxListeners } from 'node:events';

/**
 * Stops a child process when this process exits, also after an uncaught error. SIGKILL of this
 * process leaves the child running.
 *
 * @param {import('node:child_process').ChildProcess} child
 * @param {NodeJS.Signals} [signal] sent to the child
 */
export function killOnExit(child, signal = 'SIGTERM') {
  const kill = () => child.kill(signal);
  process.once('exit', kill);
  child.once('exit', () => process.removeListener('exit', kill));
}

/**
 * Runs a program whose work SIGINT and SIGTERM abort. Exits with 1 if it fails.
 *
 * @param {(signal: AbortSignal) => Promise<void>} run
 */
export async function runUntilStopped(run) {
  const stop = new AbortController();
  // Each process adds listeners.
  setMaxListeners(0, stop.signal, process);
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => stop.abort());
  try {
    await run(stop.signal);
  } catch (error) {
    console.error(stop.signal.aborted ? 'Aborted.' : error);
    process.exitCode = 1;
  }
}
