/** Old entries that a new key checks: more than one, so that none stays for long. */
const SWEEP_STEP = 3;

/**
 * A map of entries that end. It needs no timer: a new key evicts old entries that have ended, which
 * it checks round-robin. Every access is O(1) on average.
 */
export class ExpiringMap<Value> {
  private readonly entries = new Map<string, Value>();

  /**
   * @param endOf returns when an entry ends, in milliseconds since the epoch
   * @param maxSize at this number, a new key replaces another one
   */
  constructor(
    private readonly endOf: (value: Value) => number,
    private readonly maxSize = Infinity,
  ) {}

  get size(): number {
    return this.entries.size;
  }

  /** Returns the value, which may have ended. */
  get(key: string): Value | undefined {
    return this.entries.get(key);
  }

  /** @param value undefined: deletes the entry */
  set(key: string, value: Value | undefined, nowMs: number): void {
    if (value === undefined) {
      this.entries.delete(key);
      return;
    }
    if (!this.entries.has(key)) this.evict(nowMs);
    this.entries.set(key, value);
  }

  private evict(nowMs: number): void {
    let checks = Math.min(SWEEP_STEP, this.entries.size);
    for (const [key, value] of this.entries) {
      if (checks-- === 0) return;
      const isFull = this.entries.size >= this.maxSize;
      this.entries.delete(key);
      if (!isFull && this.endOf(value) > nowMs) this.entries.set(key, value);
    }
  }
}
