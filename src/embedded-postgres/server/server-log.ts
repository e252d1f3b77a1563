import { closeSync, constants, fstatSync, openSync, readSync, renameSync, statSync } from 'node:fs';
import { giveToServerUser, type ServerUser } from '../cluster/server-user.js';

const LARGE_BYTES = 5 * 1024 * 1024;
const TAIL_BYTES = 16 * 1024;

/**
 * Opens the log of the server for appending. Renames a large log first, replacing the previous one.
 */
export function openServerLog(path: string, user: ServerUser | null): number {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats !== undefined && stats.size > LARGE_BYTES) renameSync(path, `${path}.1`);
  // O_NOFOLLOW: the folder's owner must not choose where root writes.
  const {
    O_APPEND,
    O_CREAT,
    O_NOFOLLOW = 0,
    O_WRONLY,
  } = constants as Partial<typeof constants> &
    Pick<typeof constants, 'O_APPEND' | 'O_CREAT' | 'O_WRONLY'>;
  const log = openSync(path, O_APPEND | O_CREAT | O_WRONLY | O_NOFOLLOW, 0o600);
  giveToServerUser(path, user);
  return log;
}

/**
 * Returns the line that says why the server did not start, without its timestamp. Returns '' if the
 * log has no line after `from` (bytes).
 */
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
  const lines = output
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  const line =
    lines.findLast((text) => /\b(FATAL|PANIC|error|could not|cannot|failed)\b/i.test(text)) ??
    lines.at(-1) ??
    '';
  return line.replace(/^\d{4}-\d\d-\d\d [\d:.]+ \w+ \[\d+\] /, '');
}
