import { InProcessStorage } from '../../src/platform/rate-limit/in-process-storage.js';
import type { Budget } from '../../src/platform/rate-limit/limit-storage.js';
import { address, owner, START_MS } from '../harness/rate-limit/limit-model.js';
import { itKeepsTheRules } from '../harness/rate-limit/storage-rules.js';

describe('counters in the process', () => {
  itKeepsTheRules(
    () => {
      let nowMs = START_MS;
      const storage = new InProcessStorage({ now: () => nowMs, monotonicMs: () => nowMs });
      return Promise.resolve({ storage, setClock: (ms) => void (nowMs = ms) });
    },
    { seeds: 6, length: 2_000 },
  );

  it('hold at most 200,000 addresses, and every owner', async () => {
    const storage = new InProcessStorage({ now: () => START_MS, monotonicMs: () => START_MS });
    const owners = Array.from({ length: 1_000 }, (_, index) => owner(String(index), 5, 5));
    const addresses = Array.from({ length: 201_000 }, (_, index) => address(String(index), 5));
    for (const budget of [...owners, ...addresses]) await storage.decide(budget, 'consume');
    const held = (budgets: Budget[]): number =>
      budgets.filter((budget) => storage.peekLocal(budget).windows[0]?.used === 1).length;
    expect([held(owners), held(addresses)]).toEqual([1_000, 200_000]);
  });

  it('continue from the state of the shared counters, including a ban', async () => {
    let nowMs = START_MS;
    const create = () => new InProcessStorage({ now: () => nowMs, monotonicMs: () => nowMs });
    const [shared, storage] = [create(), create()];
    const ban = { lineageId: '1', unbanCount: 0, afterRejections: 3, lengthMs: 300_000 };
    const budget: Budget = { ...owner('1', 2, 5), ban };
    await shared.decide(budget, 'consume');
    nowMs += 10_000;
    const decision = await shared.decide(budget, 'consume');
    await storage.decide(budget, 'consume');
    storage.setState(budget, decision);
    expect(await storage.decide(budget, 'peek')).toEqual(await shared.decide(budget, 'peek'));
    const rejections = { count: 2, windowEndsAtMs: nowMs + 9_000, bannedUntilMs: 0, unbanCount: 0 };
    storage.setState(budget, decision, rejections);
    expect(await storage.decide(budget, 'consume')).toMatchObject({
      banBegins: true,
      bannedUntilMs: nowMs + 300_000,
    });
    // The shared counters are empty now, so these become empty too.
    storage.setState(budget, await create().decide(budget, 'peek'));
    expect(await storage.decide(budget, 'peek')).toMatchObject({
      allowed: true,
      windows: [{ used: 0 }, { used: 0 }],
    });
  });

  it('keep the lengths of windows and bans when the wall clock is set, which moves only Reset', async () => {
    const clock = { wallMs: START_MS, monotonic: 0.7 };
    const storage = new InProcessStorage({
      now: () => clock.wallMs,
      monotonicMs: () => clock.monotonic,
    });
    const ban = { lineageId: '1', unbanCount: 0, afterRejections: 2, lengthMs: 300_000 };
    const budget: Budget = { ...owner('1', 1, 5), ban };
    await storage.decide(budget, 'consume');
    const secondsLeft = async (): Promise<[number, number]> => {
      const { nowMs, windows } = await storage.decide(budget, 'peek');
      expect(nowMs).toBe(clock.wallMs);
      return [windows[0]!.endsAtMs - nowMs, windows[1]!.endsAtMs - nowMs];
    };
    const seconds = [60_000, 86_400_000];
    // The clocks differ by a fraction, which must not change Reset.
    clock.wallMs += 1;
    expect((await storage.decide(budget, 'peek')).windows[0]!.endsAtMs).toBe(START_MS + 60_000);
    for (const setMs of [START_MS - 3_600_000, START_MS + 3_600_000]) {
      clock.wallMs = setMs;
      expect(await secondsLeft()).toEqual(seconds);
    }
    await storage.decide(budget, 'consume');
    await storage.decide(budget, 'consume');
    clock.wallMs = START_MS;
    const { bannedUntilMs } = await storage.decide(budget, 'peek');
    expect(bannedUntilMs).toBe(START_MS + 300_000);
    clock.monotonic += 300_000;
    expect(await storage.decide(budget, 'consume')).toMatchObject({ allowed: true });
  });
});
