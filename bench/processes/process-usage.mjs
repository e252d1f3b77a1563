// @ts-check
// CPU time and memory of processes, from Linux's /proc (proc(5)). On other systems, all values are NaN.
import { readFileSync } from 'node:fs';

const SECONDS_PER_TICK = 0.01;

/** Returns the CPU time of a process without its children, in seconds. @param {number} pid */
export function cpuTimes(pid) {
  const [user, system] = [11, 12].map((at) => sumOfStat(pid, at, at + 1) * SECONDS_PER_TICK);
  return { user: user ?? NaN, system: system ?? NaN };
}

/**
 * Returns the CPU time of a process and its children since its start, in seconds. The children
 * include those that have ended, if the process has waited for them.
 *
 * @param {number} pid
 */
export function cpuSeconds(pid) {
  // utime and stime of the process, then cutime and cstime of the children that have ended.
  let ticks = sumOfStat(pid, 11, 15);
  for (const child of read(`/proc/${pid}/task/${pid}/children`).match(/\d+/g) ?? []) {
    ticks += sumOfStat(child, 11, 13) || 0;
  }
  return ticks * SECONDS_PER_TICK;
}

/** @param {number} pid @returns {number} resident memory in bytes */
export function residentBytes(pid) {
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(read(`/proc/${pid}/status`))?.[1]) * 1024;
}

/** @param {number | string} pid @param {number} from counted from the third value, the state @param {number} to */
function sumOfStat(pid, from, to) {
  const stat = read(`/proc/${pid}/stat`);
  const values = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(from, to);
  return values.length === 0 ? NaN : values.reduce((sum, value) => sum + Number(value), 0);
}

/** @param {string} path @returns {string} empty if the process does not exist */
function read(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
