import { closeSync, constants, fstatSync, openSync, readSync, renameSync, statSync } from 'node:fs';
import { giveToServerUser, type ServerUser } from '../cluster/server-user.js';

const LARGE_BYTES = 5 * 1024 * 1024;
const TAIL_BYTES = 16 * 1024;

/** Opens the log of the server for appending. First renames a large log to `….1`. */
export function openServerLog(path: string, user: ServerUser | null): number {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats !== undefined && stats.size > LARGE_BYTES) renameSync(path, `${path}.1`);
  // O_NOFOLLOW: the folder's owner must not choose where root writes. Undefined, and without effect
  // in the expression below, on Windows.
  const { O_APPEND, O_CREAT, O_NOFOLLOW, O_WRONLY } = constants;
  const log = openSync(path, O_APPEND | O_CREAT | O_WRONLY | O_NOFOLLOW, 0o600);
  giveToServerUser(path, user);
  return log;
}

/** Returns the line after `from` (bytes) that says why the server did not start; '' if none does. */
export function lastRelevantLine(path: string, from: number): string {
  const log = openSync(path, 'r');
  try {
    const start = Math.max(from, fstatSync(log).size - TAIL_BYTES);
    const tail = Buffer.alloc(TAIL_BYTES);
    const length = readSync(log, tail, 0, TAIL_BYTES, start);
    return relevantLine(tail.toString('utf8', 0, length));
  } finally {
    closeSync(log);
  }
}

/** Returns the last line of a program's output that reports a failure, or else the last line. */
export function relevantLine(output: string): string {
  const lines = output.trim().split(/\s*\n\s*/);
  const failure = /\b(FATAL|PANIC|error|could not|cannot|failed)\b/i;
  const line = lines.findLast((text) => failure.test(text)) ?? lines.at(-1) ?? '';
  return line.replace(/^\d{4}-\d\d-\d\d [\d:.]+ \w+ \[\d+\] /, '');
}
