const INITIAL_CAPACITY = 1_024;
/** Slots looked at for a free one at every new key: more than one, so that the dead go faster than the new come. */
const SWEEP_STEP = 2;

/**
 * Fixed windows of many keys, a few numbers each, in typed arrays: about 100 bytes a key with two
 * windows, no timer, O(1) an access. Keys whose windows have all ended are dropped in passing.
 */
export class WindowTable {
  private readonly slots = new Map<string, number>();
  private keys: (string | undefined)[] = [];
  private readonly free: number[] = [];
  private endsAtMs: Float64Array;
  private used: Uint32Array;
  private hand = 0;

  /**
   * @param windowsPerKey how many windows each key has
   * @param maxKeys beyond these, a new key takes the place of one that is there
   */
  constructor(
    private readonly windowsPerKey: number,
    private readonly maxKeys = Infinity,
  ) {
    this.endsAtMs = new Float64Array(INITIAL_CAPACITY * windowsPerKey);
    this.used = new Uint32Array(INITIAL_CAPACITY * windowsPerKey);
  }

  get size(): number {
    return this.slots.size;
  }

  /** Returns how much of a window is used, 0 when it has not begun. @param nowMs milliseconds since the epoch */
  usedOf(key: string, window: number, nowMs: number): number {
    const index = this.indexOf(key, window);
    return index >= 0 && this.endAt(index) > nowMs ? (this.used[index] ?? 0) : 0;
  }

  /** Returns when a running window ends, or when one beginning now would. */
  endOf(key: string, window: number, nowMs: number, lengthMs: number): number {
    const index = this.indexOf(key, window);
    return index >= 0 && this.endAt(index) > nowMs ? this.endAt(index) : nowMs + lengthMs;
  }

  /** Adds one to a window, beginning it when it is not running. */
  count(key: string, window: number, nowMs: number, lengthMs: number): void {
    const index = this.slotOf(key, nowMs) * this.windowsPerKey + window;
    if (this.endAt(index) <= nowMs) {
      this.endsAtMs[index] = nowMs + lengthMs;
      this.used[index] = 0;
    }
    this.used[index] = (this.used[index] ?? 0) + 1;
  }

  private endAt(index: number): number {
    return this.endsAtMs[index] ?? 0;
  }

  private indexOf(key: string, window: number): number {
    const slot = this.slots.get(key);
    return slot === undefined ? -1 : slot * this.windowsPerKey + window;
  }

  private slotOf(key: string, nowMs: number): number {
    const known = this.slots.get(key);
    if (known !== undefined) return known;
    this.sweep(nowMs);
    if (this.slots.size >= this.maxKeys) this.drop(this.advanceToTaken());
    const slot = this.free.pop() ?? this.keys.length;
    if (slot === this.keys.length) this.keys.push(undefined);
    if ((slot + 1) * this.windowsPerKey > this.used.length) this.grow();
    this.keys[slot] = key;
    this.slots.set(key, slot);
    return slot;
  }

  /** Frees the next slots in turn whose windows have all ended. */
  private sweep(nowMs: number): void {
    for (let step = 0; step < SWEEP_STEP && this.keys.length > 0; step++) {
      this.hand = (this.hand + 1) % this.keys.length;
      if (this.keys[this.hand] !== undefined && this.hasEnded(this.hand, nowMs)) this.drop(this.hand);
    }
  }

  private hasEnded(slot: number, nowMs: number): boolean {
    const first = slot * this.windowsPerKey;
    for (let index = first; index < first + this.windowsPerKey; index++) {
      if (this.endAt(index) > nowMs) return false;
    }
    return true;
  }

  private advanceToTaken(): number {
    do this.hand = (this.hand + 1) % this.keys.length;
    while (this.keys[this.hand] === undefined);
    return this.hand;
  }

  private drop(slot: number): void {
    const key = this.keys[slot];
    if (key !== undefined) this.slots.delete(key);
    this.keys[slot] = undefined;
    this.free.push(slot);
    const first = slot * this.windowsPerKey;
    this.endsAtMs.fill(0, first, first + this.windowsPerKey);
    this.used.fill(0, first, first + this.windowsPerKey);
  }

  private grow(): void {
    const endsAtMs = new Float64Array(this.endsAtMs.length * 2);
    const used = new Uint32Array(this.used.length * 2);
    endsAtMs.set(this.endsAtMs);
    used.set(this.used);
    this.endsAtMs = endsAtMs;
    this.used = used;
  }
}
