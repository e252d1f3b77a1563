import { limitHeaders, retryAfterSeconds } from '../../src/rate-limit/limit-headers.js';
import type { Reading } from '../../src/rate-limit/limit-storage.js';
import { oneOf, seededRandom } from '../harness/http/random.js';

const START_MS = 1_800_000_000_000;
const DAY_MS = 86_400_000;

/** A reading as no storage would have trouble to come to. */
function randomReading(random: () => number): Reading {
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
const readings = Array.from({ length: 1_000 }, () => randomReading(random));

function field(reading: Reading, name: string): number {
  return Number(limitHeaders(reading).find(([candidate]) => candidate === name)?.[1]);
}

/** When nothing refuses any more. */
function opensAtMs({ windows, bannedUntilMs = 0 }: Reading): number {
  const exhausted = windows.filter(({ used, quota }) => used >= quota.limit);
  return Math.max(bannedUntilMs, ...exhausted.map(({ endsAtMs }) => endsAtMs));
}

const rejections = readings.filter(({ allowed }) => !allowed);
const passes = readings.filter(({ allowed }) => allowed);

it('Retry-After is the first whole second in which nothing refuses', () => {
  for (const reading of rejections) {
    const waitMs = opensAtMs(reading) - reading.nowMs;
    expect(retryAfterSeconds(reading)).toBe(Math.max(1, Math.ceil(waitMs / 1000)));
  }
});

it('Reset of a refusal is when nothing refuses any more', () => {
  for (const reading of rejections) {
    expect(field(reading, 'X-RateLimit-Reset')).toBe(Math.ceil(opensAtMs(reading) / 1000));
    expect(field(reading, 'X-RateLimit-Remaining')).toBe(0);
  }
});

it('what passes is told of one window: none has fewer remaining, none as few ends later', () => {
  for (const reading of passes) {
    const [limit, remaining, reset] = ['Limit', 'Remaining', 'Reset'].map((name) =>
      field(reading, `X-RateLimit-${name}`),
    );
    const standings = reading.windows.map(({ quota, used, endsAtMs }) => ({
      limit: quota.limit,
      remaining: quota.limit - used,
      reset: Math.ceil(endsAtMs / 1000),
    }));
    expect(standings).toContainEqual({ limit, remaining, reset });
    const least = Math.min(...standings.map((standing) => standing.remaining));
    const last = standings
      .filter((standing) => standing.remaining === least)
      .map((standing) => standing.reset);
    expect({ remaining, reset }).toEqual({ remaining: least, reset: Math.max(...last) });
  }
});

it('Reset is never in the past, Remaining never below 0 nor above Limit', () => {
  for (const reading of readings) {
    expect(field(reading, 'X-RateLimit-Reset') * 1000).toBeGreaterThan(reading.nowMs);
    const remaining = field(reading, 'X-RateLimit-Remaining');
    expect(remaining).toBeGreaterThanOrEqual(0);
    expect(remaining).toBeLessThanOrEqual(field(reading, 'X-RateLimit-Limit'));
  }
});

it('a ban is told beside the per-minute limit', () => {
  for (const reading of readings.filter(({ bannedUntilMs }) => bannedUntilMs !== undefined)) {
    expect(field(reading, 'X-RateLimit-Limit')).toBe(reading.windows[0]?.quota.limit);
  }
});

it('the draft fields tell every window', () => {
  for (const { nowMs, windows, ...reading } of passes) {
    expect(Object.fromEntries(limitHeaders({ nowMs, windows, ...reading }))).toMatchObject({
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
