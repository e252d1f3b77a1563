import { Bans } from '../../src/rate-limit/bans.js';
import { InProcessStorage } from '../../src/rate-limit/in-process-storage.js';
import type { BanPolicy, Budget } from '../../src/rate-limit/limit-storage.js';
import { address, DAY_MS, MINUTE_MS, owner, START_MS } from '../harness/rate-limit/limit-model.js';
import { itKeepsTheRules, LOOKUP_LIMIT } from '../harness/rate-limit/storage-rules.js';

describe('counters in the process', () => {
  itKeepsTheRules(
    () => {
      let nowMs = START_MS;
      const storage = new InProcessStorage({ now: () => nowMs }, LOOKUP_LIMIT);
      return Promise.resolve({ storage, setClock: (ms) => void (nowMs = ms) });
    },
    { seeds: 12, length: 3_000 },
  );

  it('keep 200,000 addresses at a time, and every owner', () => {
    const storage = new InProcessStorage({ now: () => START_MS }, LOOKUP_LIMIT);
    const ids = Array.from({ length: 250_000 }, (_, index) => String(index));
    for (const id of ids) {
      storage.take(address(id, 5));
      storage.take(owner(id, 5, 5));
    }
    const remembered = (budgets: Budget[]): number =>
      budgets.filter((budget) => storage.peek(budget).windows[0]?.used === 1).length;
    expect(remembered(ids.map((id) => address(id, 5)))).toBe(200_000);
    expect(remembered(ids.map((id) => owner(id, 5, 5)))).toBe(250_000);
  });

  it('go on from a reading of shared counters, its ban included', () => {
    let nowMs = START_MS;
    const [shared, storage] = [0, 1].map(
      () => new InProcessStorage({ now: () => nowMs }, LOOKUP_LIMIT),
    ) as [InProcessStorage, InProcessStorage];
    const ban = { keyLine: '1', unbanCount: 0, afterRejections: 3, lengthMs: 300_000 };
    const budget: Budget = { ...owner('1', 2, 5), ban };
    shared.take(budget);
    nowMs += 10_000;
    const reading = shared.take(budget);
    storage.take(budget);
    storage.record(budget, reading);
    expect(storage.peek(budget)).toEqual(shared.peek(budget));
    const rejections = { count: 2, windowEndsAtMs: nowMs + 9_000, bannedUntilMs: 0, unbanCount: 0 };
    storage.record(budget, reading, rejections);
    expect(storage.take(budget)).toMatchObject({ banBegins: true, bannedUntilMs: nowMs + 300_000 });
    // The shared counters were emptied: so are these.
    storage.record(budget, new InProcessStorage({ now: () => nowMs }, LOOKUP_LIMIT).peek(budget));
    expect(storage.peek(budget)).toMatchObject({
      allowed: true,
      windows: [{ used: 0 }, { used: 0 }],
    });
  });
});

describe('bans', () => {
  const policy = (keyLine: string, unbanCount = 0, lengthMs = 300_000): BanPolicy => ({
    keyLine,
    unbanCount,
    afterRejections: 2,
    lengthMs,
  });

  it('forget refusals that are over while new ones come', () => {
    const bans = new Bans();
    for (let line = 0; line < 1_000; line++) bans.refuse(policy(`old ${line}`), START_MS);
    for (let line = 0; line < 500; line++) bans.refuse(policy(`new ${line}`), START_MS + MINUTE_MS);
    expect(bans.size).toBe(500);
  });

  it('forget them behind bans that last, too', () => {
    const bans = new Bans();
    for (const line of ['one', 'two', 'three']) {
      bans.refuse(policy(line, 0, DAY_MS), START_MS);
      bans.refuse(policy(line, 0, DAY_MS), START_MS);
    }
    for (let line = 0; line < 1_000; line++) bans.refuse(policy(`old ${line}`), START_MS);
    for (let line = 0; line < 600; line++) bans.refuse(policy(`new ${line}`), START_MS + MINUTE_MS);
    expect(bans.size).toBe(603);
    expect(bans.endOf(policy('one', 0, DAY_MS), START_MS + MINUTE_MS)).toBe(START_MS + DAY_MS);
  });
});
