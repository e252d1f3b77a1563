import { isDeepStrictEqual } from 'node:util';
import { Bans } from '../../src/rate-limit/bans.js';
import { InProcessStorage } from '../../src/rate-limit/in-process-storage.js';
import type { BanPolicy, Budget, Quota, Reading } from '../../src/rate-limit/limit-storage.js';
import { oneOf, seededRandom } from '../harness/random.js';

const START_MS = 1_800_000_000_000;
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** The rules as they are written, on lists of all that happened. */
class Model {
  private readonly counted = new Map<string, number[]>();
  private readonly refused = new Map<string, { atMs: number; policy: BanPolicy }[]>();

  take({ kind, id, quotas, ban }: Budget, nowMs: number): Reading {
    const log = listOf(this.counted, `${kind} ${id}`);
    const windows = quotas.map((quota) => ({ quota, ...windowOf(log, quota.lengthMs, nowMs) }));
    let bannedUntilMs = ban && this.bannedUntil(ban, nowMs);
    if (bannedUntilMs === undefined && windows.every(({ quota, used }) => used < quota.limit)) {
      log.push(nowMs);
      return {
        allowed: true,
        nowMs,
        windows: windows.map((window) => ({ ...window, used: window.used + 1 })),
      };
    }
    if (ban && bannedUntilMs === undefined) {
      listOf(this.refused, ban.keyLine).push({ atMs: nowMs, policy: ban });
      bannedUntilMs = this.bannedUntil(ban, nowMs);
    }
    return {
      allowed: false,
      nowMs,
      windows,
      ...(bannedUntilMs !== undefined && { bannedUntilMs }),
    };
  }

  private bannedUntil({ keyLine, unbanCount }: BanPolicy, nowMs: number): number | undefined {
    let minuteEndsAtMs = 0;
    let count = 0;
    let untilMs = 0;
    for (const { atMs, policy } of listOf(this.refused, keyLine)) {
      if (policy.unbanCount < unbanCount) continue;
      if (atMs >= minuteEndsAtMs) {
        minuteEndsAtMs = atMs + MINUTE_MS;
        count = 0;
      }
      if (++count >= policy.afterRefusals) {
        untilMs = atMs + policy.lengthMs;
        minuteEndsAtMs = 0;
      }
    }
    return untilMs > nowMs ? untilMs : undefined;
  }
}

function windowOf(
  log: number[],
  lengthMs: number,
  nowMs: number,
): { used: number; endsAtMs: number } {
  let endsAtMs = 0;
  let used = 0;
  for (const atMs of log) {
    if (atMs >= endsAtMs) {
      endsAtMs = atMs + lengthMs;
      used = 0;
    }
    used++;
  }
  return endsAtMs > nowMs ? { used, endsAtMs } : { used: 0, endsAtMs: nowMs + lengthMs };
}

function listOf<Item>(lists: Map<string, Item[]>, key: string): Item[] {
  const list = lists.get(key) ?? [];
  lists.set(key, list);
  return list;
}

function quotas(perMinute: number, perDay: number): Quota[] {
  return [
    { name: 'minute', limit: perMinute, lengthMs: MINUTE_MS },
    { name: 'day', limit: perDay, lengthMs: DAY_MS },
  ];
}

function owner(id: string, perMinute: number, perDay: number): Budget {
  return { kind: 'owner', plan: 'free', id, quotas: quotas(perMinute, perDay) };
}

function address(id: string, limit: number): Budget {
  return { kind: 'address', plan: 'anonymous', id, quotas: quotas(limit, 0).slice(0, 1) };
}

describe('counters in the process', () => {
  it.each(Array.from({ length: 12 }, (_, seed) => seed))(
    'agree with the written rules over a long random sequence (seed %i)',
    (seed) => {
      const random = seededRandom(seed);
      let nowMs = START_MS;
      const storage = new InProcessStorage({ now: () => nowMs });
      const model = new Model();
      const unbans = new Map<string, number>();
      const outcomes = { allowed: 0, refused: 0, banned: 0 };
      const steps = [
        0,
        1,
        999,
        1_000,
        9_000,
        30_000,
        59_999,
        MINUTE_MS,
        300_000,
        DAY_MS / 3,
        DAY_MS,
      ];
      for (let step = 0; step < 3_000; step++) {
        if (random() < 0.2) nowMs += oneOf(steps, random);
        const id = oneOf(['1', '2', '3'], random);
        const keyLine = `${id} ${oneOf(['a', 'b'], random)}`;
        if (random() < 0.01) unbans.set(keyLine, (unbans.get(keyLine) ?? 0) + 1);
        const budget: Budget =
          random() < 0.15
            ? address(id, oneOf([1, 3, 8], random))
            : {
                ...owner(id, oneOf([2, 3, 4, 9], random), oneOf([8, 20, 40], random)),
                ban: {
                  keyLine,
                  unbanCount: unbans.get(keyLine) ?? 0,
                  afterRefusals: oneOf([2, 3, 4, 5], random),
                  lengthMs: oneOf([7_000, 90_000], random),
                },
              };
        const expected = model.take(budget, nowMs);
        const peeked = storage.peek(budget);
        const taken = storage.take(budget);
        // An expect() for each step would take most of the time.
        if (!isDeepStrictEqual(taken, expected)) expect(taken).toEqual(expected);
        if (peeked.allowed !== expected.allowed) expect(peeked).toEqual(expected);
        if (expected.allowed) outcomes.allowed++;
        else outcomes[expected.bannedUntilMs === undefined ? 'refused' : 'banned']++;
      }
      for (const count of Object.values(outcomes)) expect(count).toBeGreaterThan(100);
    },
  );

  it('show a budget without counting', () => {
    const storage = new InProcessStorage({ now: () => START_MS });
    const budget = owner('1', 2, 5);
    for (let time = 0; time < 3; time++) {
      expect(storage.peek(budget)).toEqual({
        allowed: true,
        nowMs: START_MS,
        windows: budget.quotas.map((quota) => ({
          quota,
          used: 0,
          endsAtMs: START_MS + quota.lengthMs,
        })),
      });
    }
  });

  it('keep 200,000 addresses at a time, and every owner', () => {
    const storage = new InProcessStorage({ now: () => START_MS });
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

  it('never take an owner for an address', () => {
    const storage = new InProcessStorage({ now: () => START_MS });
    storage.take(owner('1', 5, 5));
    expect(storage.peek(address('1', 5)).windows[0]?.used).toBe(0);
  });

  it('refuse no look-up within the budget, and all but ten a second beyond it', () => {
    let nowMs = START_MS;
    const storage = new InProcessStorage({ now: () => nowMs });
    const budget = address('1', 1);
    for (let time = 0; time < 100; time++) expect(storage.takeLookUp(budget)).toBeUndefined();
    storage.take(budget);
    for (const moment of [0, 1_000, 2_500]) {
      nowMs = START_MS + moment;
      for (let time = 0; time < 10; time++) expect(storage.takeLookUp(budget)).toBeUndefined();
      for (const later of [0, 999]) {
        nowMs = START_MS + moment + later;
        expect(storage.takeLookUp(budget)).toMatchObject({
          allowed: false,
          windows: [{ used: 1 }],
        });
      }
    }
  });
});

describe('bans', () => {
  const policy = (keyLine: string, unbanCount = 0, lengthMs = 300_000): BanPolicy => ({
    keyLine,
    unbanCount,
    afterRefusals: 2,
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

  it('hold for a key whose cached state is from before an unban, once it is banned again', () => {
    const bans = new Bans();
    bans.refuse(policy('line', 1), START_MS);
    // The same line by another key, of which the unban is not known yet.
    expect(bans.refuse(policy('line', 0), START_MS)).toBe(START_MS + 300_000);
    expect(bans.endOf(policy('line', 0), START_MS)).toBe(START_MS + 300_000);
    expect(bans.endOf(policy('line', 1), START_MS)).toBe(START_MS + 300_000);
    expect(bans.endOf(policy('line', 2), START_MS)).toBeUndefined();
  });
});
