import { limitHeaders, retryAfterSeconds } from '../../src/platform/rate-limit/limit-headers.js';
import type { RateLimitDecision } from '../../src/platform/rate-limit/limit-storage.js';
import { oneOf, seededRandom } from '../harness/http/random.js';

const START_MS = 1_800_000_000_000;
const DAY_MS = 86_400_000;

/** Returns a decision that a storage could make. */
function randomDecision(random: () => number): RateLimitDecision {
  const nowMs = START_MS + Math.floor(random() * 2_000);
  const windows = [
    { name: 'minute', lengthMs: 60_000 } as const,
    { name: 'day', lengthMs: DAY_MS } as const,
  ].map(({ name, lengthMs }) => ({
    quota: { name, lengthMs, limit: oneOf([1, 2, 3], random) },
    used: oneOf([0, 1, 2, 3, 4], random),
    endsAtMs: nowMs + oneOf([1, 999, 1_000, 1_001, 30_500, lengthMs], random),
  }));
  const allowed = windows.every(({ used, quota }) => used < quota.limit);
  return random() < 0.3
    ? { allowed: false, nowMs, windows, bannedUntilMs: nowMs + oneOf([1, 1_000, 300_000], random) }
    : { allowed, nowMs, windows };
}

const random = seededRandom(1);
const decisions = Array.from({ length: 1_000 }, () => randomDecision(random));
const rejections = decisions.filter(({ allowed }) => !allowed);

function xHeaders(decision: RateLimitDecision): [limit: number, remaining: number, reset: number] {
  const headers = new Map(limitHeaders(decision));
  const value = (name: string): number => Number(headers.get(`X-RateLimit-${name}`));
  return [value('Limit'), value('Remaining'), value('Reset')];
}

/** Returns when no window and no ban rejects the request. */
function allowedAtMs({ windows, bannedUntilMs = 0 }: RateLimitDecision): number {
  const exceeded = windows.filter(({ used, quota }) => used >= quota.limit);
  return Math.max(bannedUntilMs, ...exceeded.map(({ endsAtMs }) => endsAtMs));
}

it('Retry-After and Reset of a rejection are the first whole second in which the request is allowed', () => {
  for (const decision of rejections) {
    const waitMs = allowedAtMs(decision) - decision.nowMs;
    expect(retryAfterSeconds(decision)).toBe(Math.max(1, Math.ceil(waitMs / 1000)));
    const [limit, remaining, reset] = xHeaders(decision);
    expect([remaining, reset]).toEqual([0, Math.ceil(allowedAtMs(decision) / 1000)]);
    // A ban is reported with the per-minute limit.
    if (decision.bannedUntilMs !== undefined) expect(limit).toBe(decision.windows[0]?.quota.limit);
  }
});

it('an allowed request reports one window: the one with fewest remaining or, on a tie, the one that ends last', () => {
  for (const decision of decisions.filter(({ allowed }) => allowed)) {
    const windows = decision.windows.map(({ quota, used, endsAtMs }) => ({
      reported: [quota.limit, quota.limit - used, Math.ceil(endsAtMs / 1000)],
      remaining: quota.limit - used,
      endsAtMs,
    }));
    windows.sort((a, b) => a.remaining - b.remaining || b.endsAtMs - a.endsAtMs);
    expect(xHeaders(decision)).toEqual(windows[0]?.reported);
  }
});

it('the headers of the draft report every window, 0 remaining in each during a ban', () => {
  for (const decision of decisions) {
    const { nowMs, windows, bannedUntilMs = 0 } = decision;
    const policies: string[] = [];
    const states: string[] = [];
    for (const { quota, used, endsAtMs } of windows) {
      const isExceeded = used >= quota.limit;
      const remaining = isExceeded || bannedUntilMs ? 0 : quota.limit - used;
      const ban = bannedUntilMs || endsAtMs;
      const endMs = isExceeded ? Math.max(endsAtMs, bannedUntilMs) : ban;
      policies.push(`"${quota.name}";q=${quota.limit};w=${quota.lengthMs / 1000}`);
      states.push(`"${quota.name}";r=${remaining};t=${Math.ceil((endMs - nowMs) / 1000)}`);
    }
    expect(Object.fromEntries(limitHeaders(decision))).toMatchObject({
      'RateLimit-Policy': policies.join(', '),
      RateLimit: states.join(', '),
    });
  }
});
