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

function header(decision: RateLimitDecision, name: string): number {
  return Number(limitHeaders(decision).find(([candidate]) => candidate === name)?.[1]);
}

/** Returns when no window and no ban rejects the request. */
function allowedAtMs({ windows, bannedUntilMs = 0 }: RateLimitDecision): number {
  const exceeded = windows.filter(({ used, quota }) => used >= quota.limit);
  return Math.max(bannedUntilMs, ...exceeded.map(({ endsAtMs }) => endsAtMs));
}

const rejections = decisions.filter(({ allowed }) => !allowed);
const allowed = decisions.filter(({ allowed }) => allowed);

it('Retry-After is the first whole second in which the request is allowed', () => {
  for (const decision of rejections) {
    const waitMs = allowedAtMs(decision) - decision.nowMs;
    expect(retryAfterSeconds(decision)).toBe(Math.max(1, Math.ceil(waitMs / 1000)));
  }
});

it('Reset of a rejection is when the request is allowed', () => {
  for (const decision of rejections) {
    expect(header(decision, 'X-RateLimit-Reset')).toBe(Math.ceil(allowedAtMs(decision) / 1000));
    expect(header(decision, 'X-RateLimit-Remaining')).toBe(0);
  }
});

it('an allowed request reports one window: the one with fewest remaining or, on a tie, the one that ends last', () => {
  for (const decision of allowed) {
    const [limit, remaining, reset] = ['Limit', 'Remaining', 'Reset'].map((name) =>
      header(decision, `X-RateLimit-${name}`),
    );
    const windows = decision.windows.map(({ quota, used, endsAtMs }) => ({
      limit: quota.limit,
      remaining: quota.limit - used,
      reset: Math.ceil(endsAtMs / 1000),
    }));
    expect(windows).toContainEqual({ limit, remaining, reset });
    const least = Math.min(...windows.map((window) => window.remaining));
    const last = windows
      .filter((window) => window.remaining === least)
      .map((window) => window.reset);
    expect({ remaining, reset }).toEqual({ remaining: least, reset: Math.max(...last) });
  }
});

it('Reset is never in the past, Remaining never below 0 nor above Limit', () => {
  for (const decision of decisions) {
    expect(header(decision, 'X-RateLimit-Reset') * 1000).toBeGreaterThan(decision.nowMs);
    const remaining = header(decision, 'X-RateLimit-Remaining');
    expect(remaining).toBeGreaterThanOrEqual(0);
    expect(remaining).toBeLessThanOrEqual(header(decision, 'X-RateLimit-Limit'));
  }
});

it('a ban is reported with the per-minute limit', () => {
  for (const decision of decisions.filter(({ bannedUntilMs }) => bannedUntilMs !== undefined)) {
    expect(header(decision, 'X-RateLimit-Limit')).toBe(decision.windows[0]?.quota.limit);
  }
});

it('the headers of the draft report every window', () => {
  for (const { nowMs, windows, ...rest } of allowed) {
    expect(Object.fromEntries(limitHeaders({ nowMs, windows, ...rest }))).toMatchObject({
      'RateLimit-Policy': windows
        .map(({ quota }) => `"${quota.name}";q=${quota.limit};w=${quota.lengthMs / 1000}`)
        .join(', '),
      RateLimit: windows
        .map(
          ({ quota, used, endsAtMs }) =>
            `"${quota.name}";r=${quota.limit - used};t=${Math.ceil((endsAtMs - nowMs) / 1000)}`,
        )
        .join(', '),
    });
  }
});
