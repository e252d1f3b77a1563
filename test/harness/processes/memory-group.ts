import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const GROUPS = '/sys/fs/cgroup/memory';

/** A limit on the memory of a process, as a container has it. */
export interface MemoryGroup {
  /** A command that runs its arguments within the limit. */
  readonly command: readonly string[];
  /** Returns how often the kernel has ended a process of the group for lack of memory. */
  kills(): number;
  remove(): void;
}

/**
 * Creates a memory cgroup. Where this is not possible, Node gets the heap that it would have in the
 * group, and the caller compares the peak of the resident size.
 */
export function createMemoryGroup(limitBytes: number): MemoryGroup {
  const group = join(GROUPS, `pets-test-${process.pid}`);
  try {
    mkdirSync(group);
    writeFileSync(join(group, 'memory.limit_in_bytes'), String(limitBytes));
  } catch {
    const heapMebibytes = Math.floor(limitBytes / 2 / 1_048_576);
    const command = [process.execPath, `--max-old-space-size=${heapMebibytes}`];
    return { command, kills: () => 0, remove: () => undefined };
  }
  // A process must join before Node reads the limit.
  const script = `echo $$ > ${group}/cgroup.procs && exec "$@"`;
  return {
    command: ['sh', '-c', script, 'sh', process.execPath],
    kills: () => {
      const control = readFileSync(join(group, 'memory.oom_control'), 'utf8');
      return Number(/^oom_kill (\d+)$/m.exec(control)?.[1] ?? 0);
    },
    remove: () => rmdirSync(group),
  };
}
