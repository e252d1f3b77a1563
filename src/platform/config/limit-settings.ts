import type { EnvironmentReader } from './environment-reader.js';

const REQUESTS = { min: 1, max: 1_000_000_000 };

export type LimitSettings = Readonly<ReturnType<typeof readLimitSettings>>;

export function readLimitSettings(read: EnvironmentReader) {
  return {
    /** Requests per minute and client address without a valid API key. */
    anonymousRequestsPerMinute: read.integer('ANONYMOUS_REQUESTS_PER_MINUTE', 300, REQUESTS),
    /** Rejected requests per minute that ban a key; undefined: the plan's limit; 0: never ban. */
    banAfterRejections: read.optionalInteger('BAN_AFTER_REJECTIONS', { ...REQUESTS, min: 0 }),
    /** How long a ban lasts. 0: never ban. */
    banMs: read.seconds('BAN_SECONDS', 300, { min: 0, max: 31_536_000 }),
  };
}
