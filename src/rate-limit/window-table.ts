const INITIAL_CAPACITY = 1_024;
/** Slots looked at for a free one at every new key: more than one, so that the dead go faster than the new come. */
const SWEEP_STEP = 2;

/** How a window stands: when it ends, in milliseconds since the epoch, and how much of it is used. */
export interface WindowState {
  used: number;
  endsAtMs: number;
}

/**
 * Fixed windows of many keys, a few numbers each, in typed arrays: about 90 bytes a key with two
 * windows, no timer, O(1) an access. Keys whose windows have all ended are dropped in passing.
 */
export class WindowTable {
  private readonly slots = new Map<string, number>();
  private readonly keys: (string | undefined)[] = [];
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

  /** Returns a window as it stands; one that is not running as if it began now. @param nowMs milliseconds since the epoch */
  read(key: string, window: number, nowMs: number, lengthMs: number): WindowState {
    const slot = this.slots.get(key);
    const index = slot === undefined ? -1 : slot * this.windowsPerKey + window;
    const endsAtMs = this.endsAtMs[index] ?? 0;
    return endsAtMs > nowMs
      ? { used: this.used[index] ?? 0, endsAtMs }
      : { used: 0, endsAtMs: nowMs + lengthMs };
  }

  /** Adds one to a window, beginning it when it is not running. */
  count(key: string, window: number, nowMs: number, lengthMs: number): void {
    const index = this.slotOf(key, nowMs) * this.windowsPerKey + window;
    if ((this.endsAtMs[index] ?? 0) <= nowMs) {
      this.endsAtMs[index] = nowMs + lengthMs;
      this.used[index] = 0;
    }
    this.used[index] = (this.used[index] ?? 0) + 1;
  }

  /** Makes a window stand as it was read elsewhere. @param state undefined: it is not running */
  set(key: string, window: number, nowMs: number, state: WindowState | undefined): void {
    if (!state && !this.slots.has(key)) return;
    const index = this.slotOf(key, nowMs) * this.windowsPerKey + window;
    this.endsAtMs[index] = state?.endsAtMs ?? 0;
    this.used[index] = state?.used ?? 0;
  }

  private slotOf(key: string, nowMs: number): number {
    const known = this.slots.get(key);
    if (known !== undefined) return known;
    this.sweep(nowMs);
    if (this.slots.size >= this.maxKeys) this.drop(this.advanceToTaken());
    const slot = this.free.pop() ?? this.keys.length;
    if ((slot + 1) * this.windowsPerKey > this.used.length) this.grow();
    this.keys[slot] = key;
    this.slots.set(key, slot);
    return slot;
  }

  /** Frees the next slots in turn whose windows have all ended. */
  private sweep(nowMs: number): void {
    for (let step = 0; step < SWEEP_STEP && this.keys.length > 0; step++) {
      this.hand = (this.hand + 1) % this.keys.length;
      if (this.keys[this.hand] !== undefined && this.hasEnded(this.hand, nowMs))
        this.drop(this.hand);
    }
  }

  private hasEnded(slot: number, nowMs: number): boolean {
    const first = slot * this.windowsPerKey;
    return this.endsAtMs
      .subarray(first, first + this.windowsPerKey)
      .every((endsAtMs) => endsAtMs <= nowMs);
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
