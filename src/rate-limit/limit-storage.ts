import type { Circuit } from './circuit.js';

/** A fixed window of a budget: so many requests in so long, from the first counted one on. */
export interface Quota {
  readonly name: 'minute' | 'day';
  readonly limit: number;
  readonly lengthMs: number;
}

/** When refusals of a key lead to a ban. */
export interface BanPolicy {
  /** What refusals are counted for, and the ban holds for: a key and those that rotation made of it. */
  readonly keyLine: string;
  /** A ban that was recorded under another number has been lifted. */
  readonly unbanCount: number;
  /** Refused requests in one minute that lead to a ban; 0: never. */
  readonly afterRejections: number;
  readonly lengthMs: number;
}

/** What a request is counted in. */
export interface Budget {
  /** Addresses may be forgotten when memory is short, owners never. */
  readonly kind: 'owner' | 'address';
  /** The owner's plan, 'anonymous' for an address. */
  readonly plan: string;
  readonly id: string;
  readonly quotas: readonly Quota[];
  readonly ban?: BanPolicy;
}

/** A window as it stands. */
export interface WindowReading {
  readonly quota: Quota;
  readonly used: number;
  /** Milliseconds since the epoch; one length from now for a window that has not begun. */
  readonly endsAtMs: number;
}

/** A decision, and what it was decided on. */
export interface Reading {
  readonly allowed: boolean;
  /** The storage's time, in milliseconds since the epoch. */
  readonly nowMs: number;
  readonly windows: readonly WindowReading[];
  /** Set while the key is banned. */
  readonly bannedUntilMs?: number;
  /** The request was the refusal that led to the ban. */
  readonly banBegins?: boolean;
}

/** How many lookups per second an address over its budget may cause. */
export interface LookupLimit {
  readonly perSecond: number;
}

/** One request of an address's budget, counted before the API key of the request is looked up. */
export interface Reservation {
  /** The state of the budget. Where it is `allowed`, it includes this request. */
  readonly reading: Reading;
  /** Whether the lookup may take place: within the budget, or as one of a few per second beyond it. */
  readonly mayLookUp: boolean;
  /** Removes the request from the budget, if it was counted there. Returns the state of the budget. Never rejects. */
  giveBack(): Reading | Promise<Reading>;
}

/** Where budgets are counted. */
export abstract class LimitStorage {
  /** Whether Redis is used; undefined where it is not to be. */
  abstract readonly circuit: Circuit | undefined;

  /** Counts one request in all windows of its budget, or refuses it and counts it in none. */
  abstract take(budget: Budget): Reading | Promise<Reading>;

  /** Reads a budget without counting; `allowed` tells whether a request would be. */
  abstract peek(budget: Budget): Reading | Promise<Reading>;

  /**
   * Counts one request before its API key is looked up: in the address's budget, or beyond that as one of a few lookups
   * per second. Both limits hold however many requests arrive at once.
   */
  abstract reserve(address: Budget): Reservation | Promise<Reservation>;
}
