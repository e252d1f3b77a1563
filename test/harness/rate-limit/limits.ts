import { setTimeout as delay } from 'node:timers/promises';
import type { ApiResponse } from '../http/client.js';
import { HANG_LIMIT_MS } from '../run/until.js';

export const SECOND_MS = 1_000;
export const MINUTE_MS = 60_000;
export const DAY_MS = 86_400_000;

/** Returns the X-RateLimit headers of a response as numbers, NaN for a missing one. */
export function limitsOf({ headers }: ApiResponse) {
  return {
    limit: Number(headers['x-ratelimit-limit']),
    remaining: Number(headers['x-ratelimit-remaining']),
    reset: Number(headers['x-ratelimit-reset']),
  };
}

/** Returns all rate limit headers of a response, including Retry-After. */
export function rateLimitHeaders({ headers }: ApiResponse): Record<string, unknown> {
  const names = Object.keys(headers).filter((name) => /ratelimit|retry-after/.test(name));
  return Object.fromEntries(names.map((name) => [name, headers[name]]));
}

export function inParallel(times: number, ask: () => Promise<ApiResponse>): Promise<ApiResponse[]> {
  return Promise.all(Array.from({ length: times }, ask));
}

/** Sends requests one after the other. Returns the last response. */
export async function sequentially(
  times: number,
  ask: () => Promise<ApiResponse>,
): Promise<ApiResponse> {
  for (let time = 1; time < times; time++) await ask();
  return ask();
}

/** Long enough that the requests exceed no limit. */
const RETRY_INTERVAL_MS = 20;

/** Sends requests until a response satisfies the condition, and returns it. */
export async function askUntil(
  ask: () => Promise<ApiResponse>,
  condition: (response: ApiResponse) => boolean,
  withinMs = HANG_LIMIT_MS,
): Promise<ApiResponse> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const response = await ask();
    if (condition(response)) return response;
    if (performance.now() > deadline) throw new Error(`still ${response.status} ${response.text}`);
    await delay(RETRY_INTERVAL_MS);
  }
}
