import { setTimeout as sleep } from 'node:timers/promises';

const POLL_MS = 20;

/** Resolves when the condition is true. @throws Error after the limit */
export async function until(
  condition: () => boolean | Promise<boolean>,
  limitMs = 10_000,
  what = String(condition),
): Promise<void> {
  const deadline = performance.now() + limitMs;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`not within ${limitMs} ms: ${what}`);
    await sleep(POLL_MS);
  }
}
