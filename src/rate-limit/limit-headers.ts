import type { QuotaState, RateLimitDecision } from './limit-storage.js';

export type Header = readonly [name: string, value: string];

/**
 * Returns the rate limit headers of a response: `X-RateLimit-*` for one window (`Reset` is a Unix
 * time in seconds), and `RateLimit-Policy` and `RateLimit` of draft-ietf-httpapi-ratelimit-headers
 * for all windows.
 */
export function limitHeaders(decision: RateLimitDecision): Header[] {
  const { windows, nowMs } = decision;
  const reported = reportedWindows(decision);
  const { limit, remaining, endsAtMs } = mostRestrictive(reported, decision);
  const policies = windows.map(
    ({ quota }) => `"${quota.name}";q=${quota.limit};w=${quota.lengthMs / 1000}`,
  );
  const states = reported.map(
    (window) => `"${window.name}";r=${window.remaining};t=${wholeSeconds(window.endsAtMs - nowMs)}`,
  );
  return [
    ['X-RateLimit-Limit', String(limit)],
    ['X-RateLimit-Remaining', String(remaining)],
    ['X-RateLimit-Reset', String(wholeSeconds(endsAtMs))],
    ['RateLimit-Policy', policies.join(', ')],
    ['RateLimit', states.join(', ')],
  ];
}

/** Returns the whole seconds, at least 1, after which no window and no ban rejects the request. */
export function retryAfterSeconds(decision: RateLimitDecision): number {
  const { endsAtMs } = mostRestrictive(reportedWindows(decision), decision);
  return Math.max(1, wholeSeconds(endsAtMs - decision.nowMs));
}

interface ReportedWindow {
  name: string;
  limit: number;
  remaining: number;
  endsAtMs: number;
}

/**
 * Returns the window that the `X-RateLimit` headers describe: the one with the fewest requests
 * remaining. If several have 0 remaining, it is the one that ends last, because requests are
 * rejected until then.
 */
function mostRestrictive(
  windows: readonly ReportedWindow[],
  { bannedUntilMs }: RateLimitDecision,
): ReportedWindow {
  const window = windows.reduce(moreRestrictive);
  // During a ban, the headers show the per-minute limit, which is the first quota.
  return bannedUntilMs === undefined ? window : { ...window, limit: windows[0]?.limit ?? 0 };
}

/** Returns the window with fewer requests remaining or, on a tie, the one that ends last. */
function moreRestrictive(a: ReportedWindow, b: ReportedWindow): ReportedWindow {
  if (a.remaining !== b.remaining) return a.remaining < b.remaining ? a : b;
  return a.endsAtMs >= b.endsAtMs ? a : b;
}

function reportedWindows({ windows, bannedUntilMs }: RateLimitDecision): ReportedWindow[] {
  return windows.map((window) => reportedWindow(window, bannedUntilMs));
}

/** During a ban, a window has 0 remaining and ends no earlier than the ban. */
function reportedWindow(
  { quota, used, endsAtMs }: QuotaState,
  bannedUntilMs: number | undefined,
): ReportedWindow {
  const { name, limit } = quota;
  const remaining = Math.max(0, limit - used);
  if (bannedUntilMs === undefined) return { name, limit, remaining, endsAtMs };
  const resetAtMs = remaining === 0 ? Math.max(endsAtMs, bannedUntilMs) : bannedUntilMs;
  return { name, limit, remaining: 0, endsAtMs: resetAtMs };
}

function wholeSeconds(ms: number): number {
  return Math.ceil(ms / 1000);
}
