import { Injectable } from '@nestjs/common';
import { Clock } from '../../config/clock.js';
import { Settings } from '../../config/settings.js';
import { LookupPools } from '../../database/pools/lookup-pools.js';
import { KeyLookupRepository } from './key-lookup.repository.js';
import type { CachedKey } from '../cached-key.js';

/** An entry of this age is refreshed in the background. */
const REFRESH_AFTER_MS = 2_000;
/** An older entry is stale: without a notification, changes take effect within five seconds. */
const MAX_AGE_MS = 4_000;
/** While the database is unreachable, a stale entry may be used until this age. */
const MAX_AGE_UNREACHABLE_MS = 600_000;

interface Entry {
  readonly key: CachedKey;
  /** When its lookup began, in milliseconds since the epoch. */
  readonly verifiedAtMs: number;
  /** The API key may have changed since, so the next use requires a lookup. */
  isStale: boolean;
  /** When a change of this API key became known, by `performance.now()`. */
  changedAtMs: number | undefined;
}

interface Lookup {
  readonly result: Promise<CachedKey | null>;
  /** Changes after it began. The lookup may have read the state before them. */
  readonly changes: Change[];
}

/** A change of API keys after which their cached state must not be used without a lookup. */
interface Change {
  /** undefined: API keys of any owner may have changed. */
  readonly ownerId?: bigint | undefined;
  /** When it became known, by `performance.now()`. undefined: notifications may be missing. */
  readonly atMs?: number;
}

/**
 * Caches the state of API keys by hash, about 400 bytes each. Only API keys that exist are cached,
 * so that unauthenticated callers cannot make it grow. When full, it evicts the least recently used.
 */
@Injectable()
export class KeyCache {
  private readonly entries = new Map<string, Entry>();
  private readonly lookups = new Map<string, Lookup>();
  private readonly capacity: number;
  /** Cache hits, queries, and uses of stale entries while the database was unreachable. */
  readonly statistics = { hits: 0, queries: 0, stale: 0 };

  constructor(
    private readonly repository: KeyLookupRepository,
    private readonly pools: LookupPools,
    private readonly clock: Clock,
    settings: Settings,
  ) {
    this.capacity = settings.bounds.maxCachedKeys;
  }

  /** Returns the cached state of an API key of any age. Does not count as a use. */
  peek(hash: string): CachedKey | undefined {
    return this.entries.get(hash)?.key;
  }

  /** Returns whether an API key is neither in the cache nor being looked up. */
  needsLookup(hash: string): boolean {
    return !this.entries.has(hash) && !this.lookups.has(hash);
  }

  /**
   * Returns the state of an API key, at most four seconds old, or null when the API key does not
   * exist. While the database is unreachable, returns the last known state for at most ten minutes.
   * If a change of the API key is known, returns the old state only until a query succeeds again.
   *
   * @throws the error of the lookup
   */
  async get(hash: string): Promise<CachedKey | null> {
    const cached = this.getCached(hash);
    if (cached) return cached;
    const entry = this.entries.get(hash);
    if (entry?.changedAtMs === undefined && this.mayUseStale(entry)) {
      this.refresh(hash);
      return this.useStale(entry);
    }
    try {
      return await this.lookUp(hash);
    } catch (error) {
      if (this.mayUseStale(entry)) return this.useStale(entry);
      throw error;
    }
  }

  /** Makes the entries that a change may affect stale. */
  invalidate(change: Change): void {
    for (const { changes } of this.lookups.values()) changes.push(change);
    for (const entry of this.entries.values()) apply(change, entry);
  }

  /** Returns an API key whose state is recent enough to use without a lookup. */
  private getCached(hash: string): CachedKey | undefined {
    const entry = this.entries.get(hash);
    if (!entry || entry.isStale) return undefined;
    const ageMs = this.clock.now() - entry.verifiedAtMs;
    // If the clock was set back, the age is unknown.
    if (ageMs > MAX_AGE_MS || ageMs < 0) return undefined;
    this.statistics.hits++;
    if (ageMs > REFRESH_AFTER_MS) this.refresh(hash);
    this.entries.delete(hash);
    this.entries.set(hash, entry);
    return entry.key;
  }

  private mayUseStale(entry: Entry | undefined): entry is Entry {
    if (!entry || !this.pools.isUnreachable) return false;
    const { verifiedAtMs, changedAtMs } = entry;
    if (this.clock.now() - verifiedAtMs > MAX_AGE_UNREACHABLE_MS) return false;
    return changedAtMs === undefined || !this.pools.hasRespondedSince(changedAtMs);
  }

  private useStale({ key }: Entry): CachedKey {
    this.statistics.stale++;
    return key;
  }

  private refresh(hash: string): void {
    this.lookUp(hash).catch(() => undefined);
  }

  private async lookUp(hash: string): Promise<CachedKey | null> {
    let lookup = this.lookups.get(hash);
    while (lookup && lookup.changes.length > 0) {
      await lookup.result.catch(() => undefined);
      lookup = this.lookups.get(hash);
    }
    if (!lookup) {
      const changes: Change[] = [];
      const result = this.query(hash, changes).finally(() => this.lookups.delete(hash));
      lookup = { result, changes };
      this.lookups.set(hash, lookup);
    }
    return lookup.result;
  }

  private async query(hash: string, changes: readonly Change[]): Promise<CachedKey | null> {
    this.statistics.queries++;
    const verifiedAtMs = this.clock.now();
    const key = await this.repository.findByHash(hash, this.entries.has(hash));
    this.entries.delete(hash);
    if (!key) return null;
    const entry: Entry = { key, verifiedAtMs, isStale: false, changedAtMs: undefined };
    for (const change of changes) apply(change, entry);
    this.entries.set(hash, entry);
    if (this.entries.size > this.capacity) {
      const [oldest = hash] = this.entries.keys();
      this.entries.delete(oldest);
    }
    return key;
  }
}

function apply({ ownerId, atMs }: Change, entry: Entry): void {
  if (ownerId !== undefined && ownerId !== entry.key.ownerId) return;
  entry.isStale = true;
  entry.changedAtMs = atMs ?? entry.changedAtMs;
}
