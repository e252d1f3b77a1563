import { Injectable } from '@nestjs/common';
import { Clock } from '../../config/clock.js';
import { Settings } from '../../config/settings.js';
import { LookupPool } from '../../database/pools/lookup-pool.js';
import { KeyLookupRepository } from './key-lookup.repository.js';
import type { CachedKey } from '../cached-key.js';

/** An entry of this age is refreshed in the background. */
const REFRESH_AFTER_MS = 2_000;
/** An older entry is stale: without a notification, changes take effect within five seconds. */
const MAX_AGE_MS = 4_000;
/** While the database is unreachable, a stale entry may be used until this age. */
const MAX_AGE_UNREACHABLE_MS = 600_000;

/** Owners whose changes are remembered. One more, and a pass over all entries marks those that are stale. */
const MAX_CHANGED_OWNERS = 1_000;

interface Entry {
  readonly key: CachedKey;
  /** When its lookup began, in milliseconds since the epoch. */
  readonly verifiedAtMs: number;
  /** The number of changes when its lookup began. */
  changes: number;
}

/**
 * Caches the state of API keys by hash, about 400 bytes each. Only API keys that exist are cached,
 * so that unauthenticated callers cannot make it grow. When full, it evicts the least recently used.
 */
@Injectable()
export class KeyCache {
  private readonly entries = new Map<string, Entry>();
  /** The lookups in progress that began after the last change. */
  private readonly lookups = new Map<string, Promise<CachedKey | null>>();
  private changes = 0;
  /** The number of the latest change that may concern all owners, and of that of each owner since. */
  private changeOfAll = 0;
  private readonly changeOfOwner = new Map<bigint, number>();
  private readonly capacity: number;
  /** Cache hits, queries, and uses of stale entries while the database was unreachable. */
  readonly statistics = { hits: 0, queries: 0, stale: 0 };

  constructor(
    private readonly repository: KeyLookupRepository,
    private readonly pool: LookupPool,
    private readonly clock: Clock,
    settings: Settings,
  ) {
    this.capacity = settings.bounds.maxCachedKeys;
  }

  /** Returns the cached state of an API key of any age. Does not count as a use. */
  peek(hash: string): CachedKey | undefined {
    return this.entries.get(hash)?.key;
  }

  /** Returns the state of an API key if it is cached and at most four seconds old. */
  getFresh(hash: string): CachedKey | undefined {
    const entry = this.entries.get(hash);
    if (!entry) return undefined;
    const ageMs = this.clock.now() - entry.verifiedAtMs;
    // If the clock was set back, the age is unknown.
    if (this.isStale(entry) || ageMs > MAX_AGE_MS || ageMs < 0) return undefined;
    this.statistics.hits++;
    if (ageMs > REFRESH_AFTER_MS) this.refresh(hash);
    this.entries.delete(hash);
    this.entries.set(hash, entry);
    return entry.key;
  }

  /**
   * Returns the state of an API key, at most four seconds old, or null when the API key does not
   * exist. While the database is unreachable, returns the last known state for at most ten minutes.
   *
   * @throws the error of the lookup
   */
  async get(hash: string): Promise<CachedKey | null> {
    const fresh = this.getFresh(hash);
    if (fresh) return fresh;
    const entry = this.entries.get(hash);
    if (!entry) return this.lookUp(hash);
    const ageMs = this.clock.now() - entry.verifiedAtMs;
    const mayUseStale = (): boolean => ageMs <= MAX_AGE_UNREACHABLE_MS && this.pool.isUnreachable;
    if (mayUseStale()) {
      this.refresh(hash);
    } else {
      try {
        return await this.lookUp(hash);
      } catch (error) {
        if (!mayUseStale()) throw error;
      }
    }
    this.statistics.stale++;
    return entry.key;
  }

  /**
   * Makes the entries of an owner stale: their next use requires a lookup. The cost does not depend
   * on the number of entries. @param ownerId undefined: those of all owners
   */
  invalidate(ownerId?: bigint): void {
    // The lookups in progress may have read the state before the change.
    this.changes++;
    this.lookups.clear();
    if (ownerId !== undefined) {
      this.changeOfOwner.set(ownerId, this.changes);
      if (this.changeOfOwner.size <= MAX_CHANGED_OWNERS) return;
      for (const entry of this.entries.values()) if (this.isStale(entry)) entry.changes = -1;
    } else {
      this.changeOfAll = this.changes;
    }
    this.changeOfOwner.clear();
  }

  private isStale({ key, changes }: Entry): boolean {
    return changes < Math.max(this.changeOfAll, this.changeOfOwner.get(key.ownerId) ?? 0);
  }

  private refresh(hash: string): void {
    this.lookUp(hash).catch(() => undefined);
  }

  private lookUp(hash: string): Promise<CachedKey | null> {
    const inProgress = this.lookups.get(hash);
    if (inProgress) return inProgress;
    const lookup = this.query(hash).finally(() => {
      if (this.lookups.get(hash) === lookup) this.lookups.delete(hash);
    });
    this.lookups.set(hash, lookup);
    return lookup;
  }

  private async query(hash: string): Promise<CachedKey | null> {
    this.statistics.queries++;
    const verifiedAtMs = this.clock.now();
    const { changes } = this;
    const key = await this.repository.findByHash(hash);
    if (changes !== this.changes) return key;
    this.entries.delete(hash);
    if (!key) return null;
    this.entries.set(hash, { key, verifiedAtMs, changes });
    if (this.entries.size > this.capacity) {
      const [oldest = hash] = this.entries.keys();
      this.entries.delete(oldest);
    }
    return key;
  }
}
