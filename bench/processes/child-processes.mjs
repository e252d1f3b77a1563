// @ts-check
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
