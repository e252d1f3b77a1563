import { isDeepStrictEqual } from 'node:util';
import { WindowTable } from '../../src/rate-limit/window-table.js';
import { oneOf, seededRandom } from '../harness/http/random.js';

const LENGTHS_MS = [60_000, 86_400_000];
const START_MS = 1_800_000_000_000;

/** Adds one to a window. Starts the window if it is not running. */
function count(
  table: WindowTable,
  key: string,
  window: number,
  nowMs: number,
  lengthMs: number,
): void {
  const { used, endsAtMs } = table.read(key, window, nowMs, lengthMs);
  table.set(key, window, nowMs, { used: used + 1, endsAtMs });
}

describe('a table of windows', () => {
  it.each([1, 2, 3])('agrees with a plain map over a long random sequence (seed %i)', (seed) => {
    const random = seededRandom(seed);
    const table = new WindowTable(2);
    const model = new Map<string, { used: number; endsAtMs: number }>();
    // Enough keys for the arrays to grow and for slots to be reused.
    const keys = Array.from({ length: 5_000 }, (_, index) => `owner ${index}`);
    let nowMs = START_MS;
    for (let step = 0; step < 60_000; step++) {
      if (random() < 0.01) nowMs += oneOf([1, 999, 60_000, 3_600_000, 86_400_000], random);
      const key = oneOf(keys, random);
      const window = oneOf([0, 1], random);
      const lengthMs = LENGTHS_MS[window]!;
      const existing = model.get(`${key} ${window}`);
      const current =
        existing && existing.endsAtMs > nowMs ? existing : { used: 0, endsAtMs: nowMs + lengthMs };
      const read = table.read(key, window, nowMs, lengthMs);
      // An expect() for each step would take most of the time.
      if (!isDeepStrictEqual(read, current)) expect(read).toEqual(current);
      if (random() < 0.5) {
        count(table, key, window, nowMs, lengthMs);
        model.set(`${key} ${window}`, { ...current, used: current.used + 1 });
      }
    }
  });

  it('drops keys whose windows have all ended while new keys are added', () => {
    const table = new WindowTable(2);
    for (let key = 0; key < 10_000; key++) count(table, `old ${key}`, 0, START_MS, 60_000);
    expect(table.size).toBe(10_000);
    for (let key = 0; key < 5_000; key++) count(table, `new ${key}`, 0, START_MS + 60_000, 60_000);
    expect(table.size).toBe(5_000);
  });

  it('keeps a key while one of its windows is running', () => {
    const table = new WindowTable(2);
    for (let key = 0; key < 2_000; key++) {
      count(table, `old ${key}`, 0, START_MS, 60_000);
      count(table, `old ${key}`, 1, START_MS, 86_400_000);
    }
    for (let key = 0; key < 5_000; key++) count(table, `new ${key}`, 0, START_MS + 60_000, 60_000);
    expect(table.size).toBe(7_000);
    expect(table.read('old 0', 1, START_MS + 60_000, 86_400_000).used).toBe(1);
  });

  it('starts at 0 for a key that replaces another', () => {
    const table = new WindowTable(2, 1);
    count(table, 'one', 0, START_MS, 60_000);
    count(table, 'one', 1, START_MS, 86_400_000);
    count(table, 'another', 0, START_MS, 60_000);
    expect(table.read('another', 1, START_MS, 86_400_000).used).toBe(0);
    count(table, 'another', 1, START_MS, 86_400_000);
    expect(table.read('another', 1, START_MS, 86_400_000).used).toBe(1);
  });

  it('never holds more keys than its maximum, and always holds the newest', () => {
    const table = new WindowTable(1, 300);
    let [held, most] = [0, 0];
    for (let key = 0; key < 10_000; key++) {
      count(table, String(key), 0, START_MS, 60_000);
      if (table.read(String(key), 0, START_MS, 60_000).used === 1) held++;
      most = Math.max(most, table.size);
    }
    expect({ held, most }).toEqual({ held: 10_000, most: 300 });
  });
});
