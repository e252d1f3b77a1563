const INITIAL_CAPACITY = 1_024;
/** Slots checked per new key. More than one, so that old keys are dropped faster than new ones come. */
const SWEEP_STEP = 2;

interface WindowState {
  used: number;
  /** Milliseconds since the epoch. */
  endsAtMs: number;
}

/**
 * Fixed windows of many keys. Objects would take about four times the memory of typed arrays, see
 * docs/limits.md. A new key drops old keys whose windows have all ended. Every access is O(1).
 */
export class WindowTable {
  private readonly slots = new Map<string, number>();
  private readonly keys: (string | undefined)[] = [];
  private readonly free: number[] = [];
  private endsAtMs: Float64Array;
  private used: Uint32Array;
  private sweepSlot = 0;

  /** @param maxKeys at this number, a new key replaces another one */
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

  /** Returns the state of a window. If it is not running, the state is that of a start now. */
  read(key: string, window: number, nowMs: number, lengthMs: number): WindowState {
    const slot = this.slots.get(key);
    const index = slot === undefined ? -1 : slot * this.windowsPerKey + window;
    const endsAtMs = this.endsAtMs[index] ?? 0;
    return endsAtMs > nowMs
      ? { used: this.used[index] ?? 0, endsAtMs }
      : { used: 0, endsAtMs: nowMs + lengthMs };
  }

  /** Replaces the state of a window. If `used` is 0, the window is not running. */
  set(key: string, window: number, nowMs: number, { used, endsAtMs }: WindowState): void {
    if (used === 0 && !this.slots.has(key)) return;
    const index = this.slotOf(key, nowMs) * this.windowsPerKey + window;
    this.endsAtMs[index] = used > 0 ? endsAtMs : 0;
    this.used[index] = used;
  }

  private slotOf(key: string, nowMs: number): number {
    const existing = this.slots.get(key);
    if (existing !== undefined) return existing;
    this.sweep(nowMs);
    // Then no slot is free, so the next one holds a key.
    if (this.slots.size >= this.maxKeys) this.drop(this.nextSlot());
    const slot = this.free.pop() ?? this.keys.length;
    if ((slot + 1) * this.windowsPerKey > this.used.length) this.grow();
    this.keys[slot] = key;
    this.slots.set(key, slot);
    return slot;
  }

  /** Checks the next slots, round-robin, and frees those whose windows have all ended. */
  private sweep(nowMs: number): void {
    for (let step = 0; step < SWEEP_STEP && this.keys.length > 0; step++) {
      const slot = this.nextSlot();
      const first = slot * this.windowsPerKey;
      const ends = this.endsAtMs.subarray(first, first + this.windowsPerKey);
      if (this.keys[slot] !== undefined && ends.every((endsAtMs) => endsAtMs <= nowMs))
        this.drop(slot);
    }
  }

  private nextSlot(): number {
    return (this.sweepSlot = (this.sweepSlot + 1) % this.keys.length);
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
    const { endsAtMs, used } = this;
    this.endsAtMs = new Float64Array(endsAtMs.length * 2);
    this.endsAtMs.set(endsAtMs);
    this.used = new Uint32Array(used.length * 2);
    this.used.set(used);
  }
}
