import { readFileSync } from 'node:fs';
import type { BuiltProcess } from './service.js';

/** Whether memory of a process can be read here. */
export const canReadMemory = process.platform === 'linux';

/** Returns the largest resident size that a process has had so far, in bytes. */
export function peakMemoryBytes({ process: child }: BuiltProcess): number {
  const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
}
