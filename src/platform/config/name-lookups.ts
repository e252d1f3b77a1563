/** Options of glibc: one attempt of a second for each name server. Its default is two of five seconds. */
const LIMITS = 'timeout:1 attempts:1';

/**
 * Limits how long glibc waits for the response to a lookup of a name. Node.js cannot cancel a lookup, which occupies one
 * of few threads. What RES_OPTIONS contains already has priority.
 */
export function limitNameLookups(): void {
  process.env['RES_OPTIONS'] = `${LIMITS} ${process.env['RES_OPTIONS'] ?? ''}`.trim();
}

/** Whether the lookup of a name is in progress. `process.exit` does not return before its end. */
export const isLookingUp = (): boolean =>
  process.getActiveResourcesInfo().includes('GetAddrInfoReqWrap');

/** Ends the process at once. While it looks up a name, only a signal can do this: the exit code is then 143. */
export function endProcess(): never {
  if (isLookingUp()) {
    process.removeAllListeners('SIGTERM');
    process.kill(process.pid, 'SIGTERM');
  }
  // As process 1 of a container, it gets no signal from itself.
  process.exit();
}
