// @ts-check
/** @typedef {import('node:child_process').ChildProcess} ChildProcess */

/** @type {Map<ChildProcess, NodeJS.Signals>} */
const children = new Map();

process.once('exit', () => {
  for (const [child, signal] of children) child.kill(signal);
});

/**
 * Ends a child when this process ends before it, by a defect too; only a kill -9 leaves it behind.
 *
 * @param {ChildProcess} child
 * @param {NodeJS.Signals} [signal] how
 */
export function endWithThisProcess(child, signal = 'SIGTERM') {
  children.set(child, signal);
  child.once('exit', () => children.delete(child));
}
