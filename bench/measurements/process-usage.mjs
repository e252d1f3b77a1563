// @ts-check
// CPU time and memory of processes, from Linux's /proc. On other systems, all values are NaN.
import { readdirSync, readFileSync } from 'node:fs';

const SECONDS_PER_TICK = 0.01;

/**
 * Returns the values of /proc/PID/stat (proc(5)), starting with the third one, the state. Returns
 * undefined if the process does not exist.
 *
 * @param {number | string} pid
 * @returns {string[] | undefined}
 */
function readStat(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return undefined;
  }
}

/**
 * Returns the CPU time of all threads of a process since its start, in seconds.
 *
 * @param {number} pid
 */
export function cpuSeconds(pid) {
  const stat = readStat(pid);
  return stat ? sum(stat.slice(11, 13)) * SECONDS_PER_TICK : NaN;
}

/**
 * Returns the CPU time of a process and its children since its start, in seconds. The children
 * include those that have ended, if the process has waited for them.
 *
 * @param {number} pid
 */
export function cpuSecondsWithChildren(pid) {
  const parent = readStat(pid);
  if (!parent) return NaN;
  // utime and stime of the process, then cutime and cstime of the children that have ended.
  let ticks = sum(parent.slice(11, 15));
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const child = readStat(name);
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
