import { ERRORS } from '../errors/catalogue.js';
import { ServiceError } from '../errors/service-error.js';
import type { Response } from '../http/request/request.js';
import type { Quota, QuotaState, RateLimitDecision } from './limit-storage.js';

/**
 * Sets the headers `X-RateLimit-*` for one window (`Reset` is a Unix time in seconds), and those of
 * draft-ietf-httpapi-ratelimit-headers for all windows.
 *
 * @returns the 429 of a decision that rejects the request, with `Retry-After`
 */
export function reportDecision(
  response: Response,
  decision: RateLimitDecision,
): ServiceError | undefined {
  const { allowed, nowMs, bannedUntilMs } = decision;
  const windows = reportedWindows(decision);
  const window = windows.reduce(moreRestrictive);
  // During a ban, the headers show the per-minute limit, which is the first quota.
  const { quota } = bannedUntilMs > 0 ? (windows[0] ?? window) : window;
  let [policies, states] = ['', ''];
  for (const state of windows) {
    const separator = policies && ', ';
    const seconds = wholeSeconds(state.endsAtMs - nowMs);
    policies += separator + state.quota.policy;
    states += `${separator}"${state.quota.name}";r=${remainingIn(state)};t=${seconds}`;
  }
  response.setHeader('X-RateLimit-Limit', quota.limit);
  response.setHeader('X-RateLimit-Remaining', remainingIn(window));
  response.setHeader('X-RateLimit-Reset', wholeSeconds(window.endsAtMs));
  response.setHeader('RateLimit-Policy', policies);
  response.setHeader('RateLimit', states);
  if (allowed) return undefined;
  const seconds = wholeSeconds(window.endsAtMs - nowMs);
  const advice = `Try again in ${seconds} ${seconds === 1 ? 'second' : 'seconds'}.`;
  const options = { headers: { 'Retry-After': String(seconds) } };
  return bannedUntilMs > 0
    ? new ServiceError('api_key_banned', `${ERRORS.api_key_banned.when} ${advice}`, options)
    : new ServiceError('rate_limit_exceeded', `${limitOf(quota)} ${advice}`, options);
}

function limitOf({ name, limit, lengthMs }: Quota): string {
  const window = name === 'route' ? `${lengthMs / 1000} seconds for this operation` : name;
  return `Over the limit of ${limit} ${limit === 1 ? 'request' : 'requests'} per ${window}.`;
}

/** During a ban, every window has 0 remaining and ends no earlier than the ban. */
function reportedWindows({ windows, bannedUntilMs }: RateLimitDecision): readonly QuotaState[] {
  if (bannedUntilMs === 0) return windows;
  return windows.map(({ quota, used, endsAtMs }) => ({
    quota,
    used: quota.limit,
    endsAtMs: used < quota.limit ? bannedUntilMs : Math.max(endsAtMs, bannedUntilMs),
  }));
}

/** Returns the window with fewer requests remaining or, on a tie, the one that ends last. */
function moreRestrictive(a: QuotaState, b: QuotaState): QuotaState {
  const difference = remainingIn(a) - remainingIn(b) || b.endsAtMs - a.endsAtMs;
  return difference <= 0 ? a : b;
}

function remainingIn({ quota, used }: QuotaState): number {
  return Math.max(0, quota.limit - used);
}

function wholeSeconds(ms: number): number {
  return Math.ceil(ms / 1000);
}
