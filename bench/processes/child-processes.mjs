// @ts-check
/** @typedef {import('node:child_process').ChildProcess} ChildProcess */

/** @type {Map<ChildProcess, NodeJS.Signals>} */
const children = new Map();

process.once('exit', () => {
  for (const [child, signal] of children) child.kill(signal);
});

/**
 * Stops a child process when this process exits, also after an uncaught error. SIGKILL of this
 * process leaves the child running.
 *
 * @param {ChildProcess} child
 * @param {NodeJS.Signals} [signal] sent to the child
 */
export function killOnExit(child, signal = 'SIGTERM') {
  children.set(child, signal);
  child.once('exit', () => children.delete(child));
}
