// @ts-check
// Processor time as Linux counts it, in hundredths of a second. Elsewhere it is not known: NaN.
import { readdirSync, readFileSync } from 'node:fs';

const SECONDS_PER_TICK = 0.01;

/**
 * Returns the values of /proc/PID/stat (proc(5)) from the third one, the state, on; undefined if
 * there is no such process.
 *
 * @param {number | string} pid
 * @returns {string[] | undefined}
 */
function statOf(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return undefined;
  }
}

/**
 * Returns what a process has used so far, all threads, in seconds.
 *
 * @param {number} pid
 */
export function processSeconds(pid) {
  const [user, system] = statOf(pid)?.slice(11, 13).map(Number) ?? [NaN, NaN];
  return (Number(user) + Number(system)) * SECONDS_PER_TICK;
}

/**
 * Returns what a process and its children have used so far, in seconds: those that run, and, as the
 * process has waited for them, those that have ended.
 *
 * @param {number} pid
 */
export function familySeconds(pid) {
  const parent = statOf(pid);
  if (!parent) return NaN;
  // user, system, and both of the children that were waited for
  let ticks = sum(parent.slice(11, 15));
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const child = statOf(name);
    if (child?.[1] === String(pid)) ticks += sum(child.slice(11, 13));
  }
  return ticks * SECONDS_PER_TICK;
}

/** @param {number} pid @returns {number} resident memory in bytes */
export function residentBytes(pid) {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) * 1024;
  } catch {
    return NaN;
  }
}

/** @param {string[]} ticks */
function sum(ticks) {
  return ticks.reduce((total, value) => total + Number(value), 0);
}
