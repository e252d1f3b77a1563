import { setTimeout as delay } from 'node:timers/promises';
import type { ApiResponse } from '../http/client.js';
import type { TestDatabase } from '../database/database.js';

export const SECOND_MS = 1_000;
export const MINUTE_MS = 60_000;
export const DAY_MS = 86_400_000;

/** What an answer's X-RateLimit fields say; NaN for one that is missing. */
export interface Limits {
  limit: number;
  remaining: number;
  /** Unix time in seconds. */
  reset: number;
}

export function limitsOf({ headers }: ApiResponse): Limits {
  return {
    limit: Number(headers['x-ratelimit-limit']),
    remaining: Number(headers['x-ratelimit-remaining']),
    reset: Number(headers['x-ratelimit-reset']),
  };
}

/** Every field of an answer that tells of limits. */
export function rateLimitHeaders({ headers }: ApiResponse): Record<string, unknown> {
  const names = Object.keys(headers).filter((name) => /ratelimit|retry-after/.test(name));
  return Object.fromEntries(names.map((name) => [name, headers[name]]));
}

/** Asks so many times at once. */
export function inParallel(times: number, ask: () => Promise<ApiResponse>): Promise<ApiResponse[]> {
  return Promise.all(Array.from({ length: times }, ask));
}

/** Asks so many times, one after the other. Returns the last answer. */
export async function sequentially(
  times: number,
  ask: () => Promise<ApiResponse>,
): Promise<ApiResponse> {
  for (let time = 1; time < times; time++) await ask();
  return ask();
}

/** Few enough that no budget is used up by asking. */
const ASK_EVERY_MS = 20;

/** Asks until an answer satisfies the condition. Returns that answer and how many it took. */
export async function askUntil(
  ask: () => Promise<ApiResponse>,
  condition: (response: ApiResponse) => boolean,
  withinMs = 5_000,
): Promise<{ response: ApiResponse; asked: number }> {
  const deadline = performance.now() + withinMs;
  for (let asked = 1; ; asked++) {
    const response = await ask();
    if (condition(response)) return { response, asked };
    if (performance.now() > deadline) throw new Error(`still ${response.status} ${response.text}`);
    await delay(ASK_EVERY_MS);
  }
}

/** Notifies the replicas that something about an owner or its keys has changed. */
export async function notifyChange(database: TestDatabase, ownerId: string): Promise<void> {
  await database.query(`SELECT pg_notify('key_changes', $1)`, [ownerId]);
}
