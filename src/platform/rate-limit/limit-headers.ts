import { ERRORS } from '../errors/catalogue.js';
import { ServiceError } from '../errors/service-error.js';
import type { Response } from '../http/request/request.js';
import type { QuotaState, RateLimitDecision } from './limit-storage.js';

/**
 * Returns the headers `X-RateLimit-*` for one window (`Reset` is a Unix time in seconds), and those
 * of draft-ietf-httpapi-ratelimit-headers for all windows.
 */
function limitHeaders(decision: RateLimitDecision): [name: string, value: string][] {
  const windows = reportedWindows(decision);
  const window = windows.reduce(moreRestrictive);
  // During a ban, the headers show the per-minute limit, which is the first quota.
  const { quota } = decision.bannedUntilMs === undefined ? window : (windows[0] ?? window);
  const policies = windows.map(
    ({ quota: { name, limit, lengthMs } }) => `"${name}";q=${limit};w=${lengthMs / 1000}`,
  );
  const states = windows.map(
    (state) =>
      `"${state.quota.name}";r=${remainingIn(state)};t=${wholeSeconds(state.endsAtMs - decision.nowMs)}`,
  );
  return [
    ['X-RateLimit-Limit', String(quota.limit)],
    ['X-RateLimit-Remaining', String(remainingIn(window))],
    ['X-RateLimit-Reset', String(wholeSeconds(window.endsAtMs))],
    ['RateLimit-Policy', policies.join(', ')],
    ['RateLimit', states.join(', ')],
  ];
}

export function setLimitHeaders(response: Response, decision: RateLimitDecision): void {
  for (const [name, value] of limitHeaders(decision)) response.setHeader(name, value);
}

/** Returns the 429 of a decision that rejects the request, with `Retry-After`. */
export function limitRejection(decision: RateLimitDecision): ServiceError {
  const seconds = retryAfterSeconds(decision);
  const options = { headers: { 'Retry-After': String(seconds) } };
  const advice = `Try again in ${seconds} ${seconds === 1 ? 'second' : 'seconds'}.`;
  if (decision.bannedUntilMs === undefined) {
    return new ServiceError('rate_limit_exceeded', `Rate limit exceeded. ${advice}`, options);
  }
  const message = `${ERRORS.api_key_banned.when} ${advice}`;
  return new ServiceError('api_key_banned', message, options);
}

/** Returns the whole seconds, at least 1, after which no window and no ban rejects the request. */
function retryAfterSeconds(decision: RateLimitDecision): number {
  const { endsAtMs } = reportedWindows(decision).reduce(moreRestrictive);
  return Math.max(1, wholeSeconds(endsAtMs - decision.nowMs));
}

/** During a ban, every window has 0 remaining and ends no earlier than the ban. */
function reportedWindows({ windows, bannedUntilMs }: RateLimitDecision): readonly QuotaState[] {
  if (bannedUntilMs === undefined) return windows;
  return windows.map(({ quota, used, endsAtMs }) => ({
    quota,
    used: quota.limit,
    endsAtMs: used < quota.limit ? bannedUntilMs : Math.max(endsAtMs, bannedUntilMs),
  }));
}

/** Returns the window with fewer requests remaining or, on a tie, the one that ends last. */
function moreRestrictive(a: QuotaState, b: QuotaState): QuotaState {
  const difference = remainingIn(a) - remainingIn(b);
  if (difference !== 0) return difference < 0 ? a : b;
  return a.endsAtMs >= b.endsAtMs ? a : b;
}

function remainingIn({ quota, used }: QuotaState): number {
  return Math.max(0, quota.limit - used);
}

function wholeSeconds(ms: number): number {
  return Math.ceil(ms / 1000);
}
