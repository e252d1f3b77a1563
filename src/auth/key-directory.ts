import { Injectable } from '@nestjs/common';
import { Clock } from '../config/clock.js';
import { KeyLookupRepository } from './key-lookup.repository.js';
import type { KnownKey } from './known-key.js';

/** A key is looked up anew in the background once what is known of it is this old. */
const REFRESH_AFTER_MS = 2_000;
/** Older knowledge waits for the look-up: changes hold within five seconds even when no notification comes. */
const MAX_AGE_MS = 4_000;
/** How long such a wait may take while there is something to fall back on. */
const MAX_WAIT_MS = 1_000;
/** Without the database, what is known holds this long. */
const MAX_AGE_UNREACHABLE_MS = 600_000;
/** Some 400 bytes each. The least recently used is forgotten first. */
const MAX_ENTRIES = 100_000;

interface Entry {
  key: KnownKey;
  /** When the database last said so, in milliseconds of the clock. */
  verifiedAtMs: number;
  /** A change was notified since: to be looked up before it is used. */
  outdated: boolean;
}

/**
 * What is known of keys, by hash. Holds only keys that exist, so strangers cannot make it grow; a
 * key that is not in it costs a query.
 */
@Injectable()
export class KeyDirectory {
  private readonly entries = new Map<string, Entry>();
  private readonly lookUps = new Map<string, Promise<KnownKey | null>>();
  /** Counts notified changes: a look-up that began before one may have read the state before it. */
  private changes = 0;
  readonly statistics = { hits: 0, misses: 0 };

  constructor(
    private readonly repository: KeyLookupRepository,
    private readonly clock: Clock,
  ) {}

  /** Returns a key whose state is recent enough to be used without waiting, else undefined. */
  recall(hash: string): KnownKey | undefined {
    const entry = this.entries.get(hash);
    const ageMs = entry ? this.clock.now() - entry.verifiedAtMs : Infinity;
    if (!entry || entry.outdated || ageMs > MAX_AGE_MS || ageMs < 0) return undefined;
    this.statistics.hits++;
    if (ageMs > REFRESH_AFTER_MS) void this.lookUp(hash).catch(() => undefined);
    this.entries.delete(hash);
    this.entries.set(hash, entry);
    return entry.key;
  }

  /** Whether the key is known to exist, however old that knowledge is. */
  isKnown(hash: string): boolean {
    return this.entries.has(hash);
  }

  /**
   * Returns the key's state from the database, or null when there is no such key. When the database
   * cannot be reached: what was known of it up to ten minutes ago.
   *
   * @throws what the database threw, when nothing is known
   */
  async find(hash: string): Promise<KnownKey | null> {
    this.statistics.misses++;
    const known = this.entries.get(hash);
    const ageMs = known ? this.clock.now() - known.verifiedAtMs : Infinity;
    const lookUp = this.lookUp(hash);
    if (!known || ageMs > MAX_AGE_UNREACHABLE_MS) return lookUp;
    return orAfter(lookUp, MAX_WAIT_MS, known.key);
  }

  /** Takes note that keys have changed. @param hasChanged tells which */
  outdate(hasChanged: (key: KnownKey) => boolean): void {
    this.changes++;
    for (const entry of this.entries.values()) {
      if (hasChanged(entry.key)) entry.outdated = true;
    }
  }

  private lookUp(hash: string): Promise<KnownKey | null> {
    let lookUp = this.lookUps.get(hash);
    if (!lookUp) {
      lookUp = this.query(hash).finally(() => this.lookUps.delete(hash));
      this.lookUps.set(hash, lookUp);
    }
    return lookUp;
  }

  private async query(hash: string): Promise<KnownKey | null> {
    const verifiedAtMs = this.clock.now();
    const { changes } = this;
    const key = await this.repository.findByHash(hash);
    this.entries.delete(hash);
    if (key) this.remember(hash, { key, verifiedAtMs, outdated: changes !== this.changes });
    return key;
  }

  private remember(hash: string, entry: Entry): void {
    this.entries.set(hash, entry);
    if (this.entries.size <= MAX_ENTRIES) return;
    const [oldest] = this.entries.keys();
    if (oldest !== undefined) this.entries.delete(oldest);
  }
}

/** Returns what the promise resolves to, or the fallback when that takes too long or fails. */
async function orAfter<Value>(
  promise: Promise<Value>,
  waitMs: number,
  fallback: Value,
): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<Value>((resolve) => {
    timer = setTimeout(() => resolve(fallback), waitMs);
  });
  try {
    return await Promise.race([promise, timeout]);
  } catch {
    return fallback;
  } finally {
    clearTimeout(timer);
  }
}
