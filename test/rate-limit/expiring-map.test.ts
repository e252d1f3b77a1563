import { ExpiringMap } from '../../src/platform/rate-limit/expiring-map.js';

const START_MS = 1_800_000_000_000;
const END_MS = START_MS + 60_000;
const LATER_END_MS = START_MS + 86_400_000;

/** A map whose values are the ends of its entries. */
function createMap(maxSize?: number): ExpiringMap<number> {
  return new ExpiringMap((endsAtMs) => endsAtMs, maxSize);
}

describe('a map of entries that end', () => {
  it('evicts ended entries while new keys are added', () => {
    const map = createMap();
    for (let key = 0; key < 10_000; key++) map.set(`old ${key}`, END_MS, START_MS);
    expect(map.size).toBe(10_000);
    for (let key = 0; key < 5_000; key++) map.set(`new ${key}`, LATER_END_MS, END_MS);
    expect(map.size).toBe(5_000);
  });

  it('keeps entries that have not ended, and evicts ended ones after them', () => {
    const map = createMap();
    for (let key = 0; key < 3; key++) map.set(`long ${key}`, LATER_END_MS, START_MS);
    for (let key = 0; key < 1_000; key++) map.set(`old ${key}`, END_MS, START_MS);
    for (let key = 0; key < 600; key++) map.set(`new ${key}`, LATER_END_MS, END_MS);
    expect(map.size).toBe(603);
    expect(map.get('long 0')).toBe(LATER_END_MS);
  });

  it('never holds more keys than its maximum, and always holds the newest', () => {
    const map = createMap(300);
    let [held, most] = [0, 0];
    for (let key = 0; key < 10_000; key++) {
      map.set(String(key), END_MS, START_MS);
      if (map.get(String(key)) === END_MS) held++;
      most = Math.max(most, map.size);
    }
    expect({ held, most }).toEqual({ held: 10_000, most: 300 });
  });
});
