import { setTimeout as sleep } from 'node:timers/promises';

const POLL_MS = 20;

/**
 * Ends a wait for something that will not happen. It is many times what a busy machine needs, so that no result
 * depends on the speed of the machine.
 */
export const HANG_LIMIT_MS = 60_000;

/** Resolves when the condition is true. @throws Error after the limit */
export async function until(
  condition: () => boolean | Promise<boolean>,
  limitMs = HANG_LIMIT_MS,
  what = String(condition),
): Promise<void> {
  const deadline = performance.now() + limitMs;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`not within ${limitMs} ms: ${what}`);
    await sleep(POLL_MS);
  }
}
