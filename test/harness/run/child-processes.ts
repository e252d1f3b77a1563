import type { ChildProcess } from 'node:child_process';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';

const STOP_LIMIT_MS = 5_000;

/** The processes that the test file has started and that still run. */
const running = new Set<ChildProcess>();

function onStart(message: unknown): void {
  const { process } = message as { process: ChildProcess };
  running.add(process);
  process.once('exit', () => running.delete(process));
}

// Node publishes each process that it creates on this channel.
subscribe('child_process', onStart);

/** A process that a failed test has left must not keep Jest from ending. */
afterAll(async () => {
  unsubscribe('child_process', onStart);
  await Promise.all([...running].map(stop));
});

async function stop(child: ChildProcess): Promise<void> {
  if (child.pid === undefined) return;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  const limit = setTimeout(() => child.kill('SIGKILL'), STOP_LIMIT_MS);
  await exited;
  clearTimeout(limit);
}
