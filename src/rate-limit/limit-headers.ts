import type { Reading, WindowReading } from './limit-storage.js';

/** A header field and its value. */
export type Field = readonly [name: string, value: string];

/**
 * Returns what a reading tells the client: X-RateLimit-* for the one window that matters (Reset is a
 * Unix time in seconds), and all windows in the fields of draft-ietf-httpapi-ratelimit-headers.
 */
export function limitHeaders(reading: Reading): Field[] {
  const { windows, nowMs } = reading;
  const standings = standingsOf(reading);
  const told = toldWindow(standings, reading);
  const policy = windows.map(
    ({ quota }) => `"${quota.name}";q=${quota.limit};w=${quota.lengthMs / 1000}`,
  );
  const standing = standings.map(
    ({ name, remaining, endsAtMs }) =>
      `"${name}";r=${remaining};t=${wholeSeconds(endsAtMs - nowMs)}`,
  );
  return [
    ['X-RateLimit-Limit', String(told.limit)],
    ['X-RateLimit-Remaining', String(told.remaining)],
    ['X-RateLimit-Reset', String(wholeSeconds(told.endsAtMs))],
    ['RateLimit-Policy', policy.join(', ')],
    ['RateLimit', standing.join(', ')],
  ];
}

/** Returns after how many whole seconds nothing refuses any more, at least 1. */
export function retryAfterSeconds(reading: Reading): number {
  const { endsAtMs } = toldWindow(standingsOf(reading), reading);
  return Math.max(1, wholeSeconds(endsAtMs - reading.nowMs));
}

interface Standing {
  name: string;
  limit: number;
  remaining: number;
  endsAtMs: number;
}

/**
 * The one window that the X-RateLimit fields describe: the one that refuses (the one that ends last,
 * if several do), which is one with nothing remaining; else the one with fewest requests remaining.
 */
function toldWindow(
  standings: readonly Standing[],
  { bannedUntilMs }: Reading,
): Omit<Standing, 'name'> {
  if (bannedUntilMs === undefined) return standings.reduce(scarcer);
  // A ban is told beside the per-minute limit, the first quota.
  const endsAtMs = Math.max(...standings.map((standing) => standing.endsAtMs));
  return { limit: standings[0]?.limit ?? 0, remaining: 0, endsAtMs };
}

/** Of two windows the one with fewer requests remaining; on a tie the one that ends last. */
function scarcer(a: Standing, b: Standing): Standing {
  if (a.remaining !== b.remaining) return a.remaining < b.remaining ? a : b;
  return a.endsAtMs >= b.endsAtMs ? a : b;
}

function standingsOf({ windows, bannedUntilMs }: Reading): Standing[] {
  return windows.map((window) => standingOf(window, bannedUntilMs));
}

/** How a window stands for the caller: during a ban nothing remains, until the ban's end at least. */
function standingOf(
  { quota, used, endsAtMs }: WindowReading,
  bannedUntilMs: number | undefined,
): Standing {
  const { name, limit } = quota;
  const remaining = Math.max(0, limit - used);
  if (bannedUntilMs === undefined) return { name, limit, remaining, endsAtMs };
  const openAtMs = remaining === 0 ? Math.max(endsAtMs, bannedUntilMs) : bannedUntilMs;
  return { name, limit, remaining: 0, endsAtMs: openAtMs };
}

function wholeSeconds(ms: number): number {
  return Math.ceil(ms / 1000);
}
