import type { EnvironmentReader } from './environment-reader.js';

export interface LimitSettings {
  /** Requests per minute and client address without a valid API key. */
  readonly anonymousRequestsPerMinute: number;
  /** Rejected requests per minute that ban a key; undefined: the plan's limit; 0: never ban. */
  readonly banAfterRejections: number | undefined;
  /** How long a ban lasts. 0: never ban. */
  readonly banMs: number;
  /** Lookups of API keys per second for a client address over its anonymous limit. */
  readonly keyLookupsPerSecond: number;
}

const REQUESTS = { min: 1, max: 1_000_000_000 };

export function readLimitSettings(read: EnvironmentReader): LimitSettings {
  return {
    anonymousRequestsPerMinute: read.integer('ANONYMOUS_REQUESTS_PER_MINUTE', 300, REQUESTS),
    banAfterRejections: read.optionalInteger('BAN_AFTER_REFUSALS', { ...REQUESTS, min: 0 }),
    banMs: read.seconds('BAN_SECONDS', 300, { min: 0, max: 31_536_000 }),
    keyLookupsPerSecond: read.integer('KEY_LOOKUPS_PER_SECOND', 10, { min: 1, max: 1_000_000 }),
  };
}
