import type { Access, PlanLimits } from '../../config/plan-limits.js';
import type { ServiceError } from '../../errors/service-error.js';

/** Who sends a request: an API key and its owner. */
export interface Caller {
  readonly keyId: bigint;
  readonly ownerId: bigint;
  /** The owner's name, as operators gave it. */
  readonly owner: string;
  readonly plan: string;
  /** The id that all rotations of the API key share: that of the first one. For roles of an API key. */
  readonly firstKeyId: bigint;
}

/** The cached state of an API key. Immutable; a refresh replaces the object. */
export interface KeyState extends Caller {
  readonly access: Access;
  readonly limits: PlanLimits;
  /** Why the plan of the owner has no limits, for example because a release removed it. Requests get 503. */
  readonly planFailure: Error | undefined;
  readonly unbanCount: number;
  /** Milliseconds since the epoch; undefined: the API key does not expire. */
  readonly expiresAtMs: number | undefined;
  readonly revoked: boolean;
}

/** A caller without an accepted API key. Its requests are counted for its address, unless the reason is `unavailable`. */
interface AnonymousCaller {
  kind: 'anonymous';
  /**
   * missing: no bearer token was sent. invalid: malformed, unknown, expired or revoked.
   * unavailable: the lookup failed because the database is unavailable, or the plan of the owner has no limits.
   */
  reason: 'missing' | 'invalid' | 'unavailable';
  /** The API key that is not accepted, for the log. */
  rejectedKey?: KeyState;
  /** The 503 for `unavailable`. */
  failure?: ServiceError;
}

/** The caller of a request: with a valid API key, or anonymous. */
export type Identification =
  { kind: 'key'; key: KeyState; reason?: undefined; failure?: undefined } | AnonymousCaller;
