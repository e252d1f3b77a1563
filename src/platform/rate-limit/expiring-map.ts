/** Old entries that a new key checks: more than one, so that none stays for long. */
const SWEEP_STEP = 3;

/**
 * A map of entries that end. It needs no timer: a new key evicts old entries that have ended, which
 * it checks round-robin. Every access is O(1) on average.
 */
export class ExpiringMap<Value> {
  private readonly entries = new Map<string, Value>();
  /** Every entry is ahead of it: those that it has passed were deleted or moved to the end. */
  private readonly sweep = this.entries.entries();

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
    // Map's own iteration from the first entry would step over every deleted one each time.
    for (let checks = Math.min(SWEEP_STEP, this.entries.size); checks > 0; checks--) {
      const next = this.sweep.next();
      if (next.done) return;
      const [key, value] = next.value;
      const isFull = this.entries.size >= this.maxSize;
      this.entries.delete(key);
      if (!isFull && this.endOf(value) > nowMs) this.entries.set(key, value);
    }
  }
}
