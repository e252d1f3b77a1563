import type { CachedKey } from './cached-key.js';

/** A caller without a valid API key, identified by its address only. */
export interface AnonymousCaller {
  kind: 'anonymous';
  /**
   * missing: no bearer token was sent. invalid: malformed, unknown, expired or revoked.
   * unavailable: the lookup failed because the database is unavailable.
   */
  reason: 'missing' | 'invalid' | 'unavailable';
  /** The expired or revoked API key, for the log. */
  rejectedKey?: CachedKey;
  /** Why the lookup failed. */
  cause?: unknown;
}

/** The caller of a request: with a valid API key, or anonymous. */
export type Caller = { kind: 'key'; key: CachedKey; reason?: undefined } | AnonymousCaller;
