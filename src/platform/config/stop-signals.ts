import { once } from 'node:events';
import { closeSync, existsSync, readFileSync } from 'node:fs';

// Node.js resets an ignored SIGHUP. What nohup leaves: its name, in the variable of many shells, and,
// on Linux, an input that can only be written instead of a terminal.
const input = '/proc/self/fdinfo/0';
const isNohup =
  /\bnohup$/.test(process.env['_'] ?? '') ||
  (existsSync(input) && /^flags:.*1$/m.test(readFileSync(input, 'utf8')));
if (isNohup) process.on('SIGHUP', () => undefined);
// Node.js aborts at its exit if a terminal that it resets is closed.
process.once('SIGHUP', () => process.once('exit', () => [0, 1, 2].forEach((fd) => closeSync(fd))));

/** The signals that end a process. SIGHUP: its terminal is closed. */
export const STOP_SIGNALS = ['SIGINT', 'SIGTERM', ...(isNohup ? [] : ['SIGHUP'])];

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
