import {
  ExpiringMap,
  InProcessStorage,
} from '../../../src/platform/rate-limit/in-process-storage.js';
import { owner, START_MS } from '../../harness/rate-limit/limit-model.js';
import { itKeepsTheRules } from '../../harness/rate-limit/storage-rules.js';

describe('counters in the process', () => {
  itKeepsTheRules(
    () => {
      let nowMs = START_MS;
      const storage = new InProcessStorage({ now: () => nowMs, monotonicMs: () => nowMs });
      return Promise.resolve({ storage, setClock: (ms) => void (nowMs = ms) });
    },
    { seeds: 6, length: 2_000 },
  );

  it('continue from a state in Redis, in which a window has not begun', () => {
    let nowMs = START_MS;
    const storage = new InProcessStorage({ now: () => nowMs, monotonicMs: () => nowMs });
    const state = storage.peekLocal(owner('1', 5, 5));
    storage.setState(owner('1', 5, 5), {
      ...state,
      windows: [state.windows[0]!, { ...state.windows[1]!, used: 1 }],
    });
    nowMs += 1_000;
    const ends = storage
      .peekLocal(owner('1', 5, 5))
      .windows.map(({ endsAtMs }) => endsAtMs - START_MS);
    expect(ends).toEqual([61_000, 86_400_000]);
  });

  it('hold at most their largest number of entries', () => {
    const entries = new ExpiringMap<number>((end) => end, 100);
    const names = Array.from({ length: 150 }, (_, index) => String(index));
    for (const name of names) entries.set(name, 10, 0);
    expect(names.filter((name) => entries.get(name) !== undefined)).toHaveLength(100);
    expect(entries.get('149')).toBe(10);
  });

  it('drop entries that have ended, when others are added', () => {
    const entries = new ExpiringMap<number>((end) => end);
    const names = (kind: string) => Array.from({ length: 100 }, (_, index) => `${kind} ${index}`);
    for (const name of names('old')) entries.set(name, 10, 0);
    for (const name of names('lasting')) entries.set(name, 30, 0);
    for (const name of names('new')) entries.set(name, 30, 20);
    const held = (kind: string) => names(kind).filter((name) => entries.get(name) === 30);
    expect(names('old').filter((name) => entries.get(name) !== undefined)).toEqual([]);
    expect([held('lasting'), held('new')]).toEqual([names('lasting'), names('new')]);
  });

  it("reject a throttler's blockDuration, because a rejection ends with its window", async () => {
    const storage = new InProcessStorage({ now: () => START_MS, monotonicMs: () => START_MS });
    await expect(storage.increment('a', 60_000, 1, 90_000)).rejects.toThrow(
      'The throttler must not have a blockDuration.',
    );
    expect(await storage.increment('a', 60_000, 1, 60_000)).toMatchObject({ totalHits: 1 });
  });
});
