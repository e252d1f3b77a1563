import { Injectable } from '@nestjs/common';
import { Clock } from '../../config/clock.js';
import { Settings } from '../../config/settings.js';
import { DatabaseProbe } from '../../database/pools/database-probe.js';
import type { KeyState } from '../../http/request/caller.js';
import { KeyLookupRepository } from './key-lookup.repository.js';

/** A state of this age is refreshed in the background. */
const REFRESH_AFTER_MS = 2_000;
/** An older state is not used, so that changes take effect within five seconds. */
const MAX_AGE_MS = 4_000;
/** While the database is unreachable, the last known state may be used until this age. */
const MAX_AGE_UNREACHABLE_MS = 600_000;
/**
 * How long requests do not wait for a lookup after the database was unreachable. Longer than a lookup
 * from before takes to fail, and short enough that changes take effect within five seconds.
 */
const DOWN_FOR_MS = 3_000;

/** A result of a lookup is as old as the lookup. `startedAtMs` is on the monotonic clock. */
interface Lookup<Result> {
  readonly startedAtMs: number;
  readonly result: Result;
}

/**
 * Caches the state of API keys by hash, about 400 bytes each. Only API keys that exist are cached,
 * so that unauthenticated callers cannot make it grow. When full, it evicts the one whose
 * latest lookup is the oldest.
 */
@Injectable()
export class KeyCache {
  private readonly entries = new Map<string, Lookup<KeyState>>();
  /** Kept, because a new iterator walks over the places of all entries that were removed before. */
  private readonly oldest = this.entries.keys();
  private readonly lookups = new Map<string, Lookup<Promise<KeyState | null>>>();
  /** When the database was last unreachable, on the monotonic clock. */
  private downAtMs = -Infinity;
  /** Cache hits, queries, and uses of older states while the database was unreachable. */
  readonly statistics = { cache: 0, database: 0, stale: 0 };

  constructor(
    private readonly repository: KeyLookupRepository,
    private readonly database: DatabaseProbe,
    private readonly clock: Clock,
    private readonly settings: Settings,
  ) {}

  /** Returns the cached state of an API key of any age. Does not count as a use. */
  peek(hash: string): KeyState | undefined {
    return this.entries.get(hash)?.result;
  }

  /** Returns the state of an API key if it is cached and at most four seconds old. */
  getFresh(hash: string): KeyState | undefined {
    const entry = this.entries.get(hash);
    if (!entry) return undefined;
    const ageMs = this.clock.monotonicMs() - entry.startedAtMs;
    if (ageMs > MAX_AGE_MS) return undefined;
    this.statistics.cache++;
    if (ageMs > REFRESH_AFTER_MS) void this.lookUp(hash);
    return entry.result;
  }

  /**
   * Looks up the state of an API key, null if the API key does not exist. While the database is
   * unreachable, returns the last known state for at most ten minutes.
   *
   * @throws the error of the lookup
   */
  async get(hash: string): Promise<KeyState | null> {
    const entry = this.entries.get(hash);
    const lookup = this.lookUp(hash);
    if (this.clock.monotonicMs() - this.downAtMs > DOWN_FOR_MS) {
      try {
        return await lookup;
      } catch (error) {
        if (!entry || !(await this.isDown())) throw error;
      }
    }
    if (!entry || this.clock.monotonicMs() - entry.startedAtMs > MAX_AGE_UNREACHABLE_MS)
      return lookup;
    this.statistics.stale++;
    return entry.result;
  }

  /** Joins a lookup in progress, if it began recently, or starts one. */
  private lookUp(hash: string): Promise<KeyState | null> {
    const startedAtMs = this.clock.monotonicMs();
    const current = this.lookups.get(hash);
    if (current && startedAtMs - current.startedAtMs <= MAX_AGE_MS) return current.result;
    this.statistics.database++;
    const lookup = { startedAtMs, result: this.repository.findByHash(hash) };
    this.lookups.set(hash, lookup);
    const end = (key?: KeyState | null): void => {
      // A later lookup has replaced this one.
      if (this.lookups.get(hash) !== lookup) return;
      this.lookups.delete(hash);
      if (key !== undefined) this.store(hash, startedAtMs, key);
    };
    // Handles the error even if no request waits for the result.
    lookup.result.then(end, () => {
      end();
      void this.isDown();
    });
    return lookup.result;
  }

  /** Whether the database does not respond. Called after a lookup has failed. */
  private async isDown(): Promise<boolean> {
    const { state } = await this.database.run();
    if (state === 'down') this.downAtMs = this.clock.monotonicMs();
    return state === 'down';
  }

  private store(hash: string, startedAtMs: number, key: KeyState | null): void {
    this.entries.delete(hash);
    if (!key) return;
    this.entries.set(hash, { startedAtMs, result: key });
    if (this.entries.size <= this.settings.bounds.maxCachedKeys) return;
    const { value: oldest = hash } = this.oldest.next();
    this.entries.delete(oldest);
  }
}
