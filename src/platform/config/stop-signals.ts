import { once } from 'node:events';
import { closeSync, existsSync, readFileSync } from 'node:fs';

/** On Linux, a line of it shows how standard input is open. */
const INPUT_INFO = '/proc/self/fdinfo/0';

/**
 * Calls the listener with the name of each signal that ends a process. SIGHUP: its terminal is closed, which
 * a process that nohup has started ignores.
 *
 * @returns a function that stops it
 */
export function onStopSignal(listener: (name: NodeJS.Signals) => void): () => void {
  const onHangup = isStartedByNohup() ? () => undefined : listener;
  const listeners = { SIGINT: listener, SIGTERM: listener, SIGHUP: onHangup };
  for (const [name, each] of Object.entries(listeners)) process.on(name, each);
  process.once('SIGHUP', closeTerminalAtExit);
  return () => {
    for (const [name, each] of Object.entries(listeners)) process.off(name, each);
    process.off('SIGHUP', closeTerminalAtExit);
  };
}

/** Node.js aborts at its exit if a terminal that it resets is closed. */
function closeTerminalAtExit(): void {
  process.once('exit', () => [0, 1, 2].forEach((fd) => closeSync(fd)));
}

/**
 * Node.js resets an ignored SIGHUP. What nohup leaves: its name, in the variable of many shells, and, on
 * Linux, an input that can only be written instead of a terminal.
 */
function isStartedByNohup(): boolean {
  return (
    /\bnohup$/.test(process.env['_'] ?? '') ||
    (existsSync(INPUT_INFO) && /^flags:.*1$/m.test(readFileSync(INPUT_INFO, 'utf8')))
  );
}

/**
 * Resolves at the next SIGINT or SIGTERM (under npm at the second, because npm repeats it), and sets the exit
 * code of the process to that of the signal.
 */
export async function nextSignal(): Promise<void> {
  const next = () => Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
  // npm repeats a signal that a terminal or systemd also sends to this process.
  if (/^(?:start|dev|cli)/.test(process.env['npm_lifecycle_event'] ?? '')) await next();
  const [, number] = (await next()) as [string, number];
  process.exitCode = 128 + number;
}
