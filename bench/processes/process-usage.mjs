// @ts-check
// CPU time and memory of processes, from Linux's /proc (proc(5)). On other systems, all values are NaN.
import { readdirSync, readFileSync } from 'node:fs';

const SECONDS_PER_TICK = 0.01;

/**
 * @param {number | string} pid
 * @returns {string[]} the values of /proc/PID/stat, starting with the third one, the state; none if the process does not exist
 */
function readStat(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return [];
  }
}

/**
 * Returns the CPU time of a process and its children since its start, in seconds. The children
 * include those that have ended, if the process has waited for them.
 *
 * @param {number} pid
 */
export function cpuSeconds(pid) {
  // utime and stime of the process, then cutime and cstime of the children that have ended.
  let ticks = sum(readStat(pid).slice(11, 15));
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    const child = readStat(name);
    if (child[1] === String(pid)) ticks += sum(child.slice(11, 13));
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

/** @param {string[]} ticks @returns {number} NaN if there are none */
function sum(ticks) {
  return ticks.length === 0 ? NaN : ticks.reduce((total, value) => total + Number(value), 0);
}
