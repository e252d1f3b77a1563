import type { CachedKey } from './cached-key.js';

/** A request with a valid key. */
export interface KeyCaller {
  kind: 'key';
  key: CachedKey;
}

/** A request without a valid key, known by its address alone. */
export interface AnonymousCaller {
  kind: 'anonymous';
  /**
   * missing: no bearer token was sent; invalid: malformed, unknown, expired or revoked;
   * unverified: the address has used up its look-ups, so the key was not looked for;
   * unavailable: the key could not be looked up, the database being away.
   */
  reason: 'missing' | 'invalid' | 'unverified' | 'unavailable';
  /** The key, where it exists but has expired or was revoked; for the log. */
  rejectedKey?: CachedKey;
  /** What kept the key from being looked up. */
  cause?: unknown;
}

/** Who makes a request. */
export type Caller = KeyCaller | AnonymousCaller;

declare module 'express-serve-static-core' {
  interface Request {
    /** Set by the first guard; absent on routes that take no key. */
    caller?: Caller;
  }
}
