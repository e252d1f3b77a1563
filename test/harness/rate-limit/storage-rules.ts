import { isDeepStrictEqual } from 'node:util';
import type {
  BanPolicy,
  Budget,
  LimitStorage,
  Reading,
} from '../../../src/rate-limit/limit-storage.js';
import { oneOf, seededRandom } from '../http/random.js';
import { address, DAY_MS, LimitModel, MINUTE_MS, owner, START_MS } from './limit-model.js';

/** An empty storage whose clock stands at START_MS. */
export interface StorageUnderTest {
  storage: LimitStorage;
  setClock: (nowMs: number) => void;
}

/** What the storages are created with. */
export const LOOKUP_LIMIT = { perSecond: 10 };

const STEPS = [0, 1, 999, 1_000, 9_000, 30_000, 59_999, MINUTE_MS, 300_000, DAY_MS / 3, DAY_MS];

/** The rules that hold wherever counters are. @param create is called once a test */
export function itKeepsTheRules(
  create: () => Promise<StorageUnderTest>,
  { seeds, length }: { seeds: number; length: number },
): void {
  it.each(Array.from({ length: seeds }, (_, seed) => seed))(
    'agree with the written rules over a long random sequence (seed %i)',
    async (seed) => {
      const random = seededRandom(seed);
      const { storage, setClock } = await create();
      let nowMs = START_MS;
      const model = new LimitModel();
      const unbans = new Map<string, number>();
      const outcomes = { allowed: 0, rejected: 0, banned: 0 };
      for (let step = 0; step < length; step++) {
        if (random() < 0.2) setClock((nowMs += oneOf(STEPS, random)));
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
                  afterRejections: oneOf([2, 3, 4, 5], random),
                  lengthMs: oneOf([7_000, 90_000], random),
                },
              };
        const expected = model.take(budget, nowMs);
        const peeked = await storage.peek(budget);
        const taken = await takeOrReserve(storage, budget, random);
        // An expect() for each step would take most of the time.
        if (!isDeepStrictEqual(taken, expected))
          expect({ step, taken }).toEqual({ step, taken: expected });
        if (peeked.allowed !== expected.allowed) expect(peeked).toEqual(expected);
        if (expected.allowed) outcomes.allowed++;
        else outcomes[expected.bannedUntilMs === undefined ? 'rejected' : 'banned']++;
      }
      for (const count of Object.values(outcomes)) expect(count).toBeGreaterThan(length / 30);
    },
  );

  it('show a budget without counting', async () => {
    const { storage } = await create();
    const budget = owner('1', 2, 5);
    for (let time = 0; time < 3; time++) {
      expect(await storage.peek(budget)).toEqual({
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

  it('never take an owner for an address', async () => {
    const { storage } = await create();
    await storage.take(owner('1', 5, 5));
    expect((await storage.peek(address('1', 5))).windows[0]?.used).toBe(0);
  });

  it('take no part in bans that are turned off', async () => {
    const { storage } = await create();
    for (const off of [{ afterRejections: 0 }, { lengthMs: 0 }]) {
      const ban = { keyLine: '1', unbanCount: 0, afterRejections: 1, lengthMs: 1_000, ...off };
      const budget = { ...owner('1', 1, 5), ban };
      for (let time = 0; time < 5; time++) {
        expect(await storage.take(budget)).not.toHaveProperty('bannedUntilMs');
      }
    }
  });

  it('ban a key whose cached state is from before an unban, once it is banned again', async () => {
    const { storage } = await create();
    const budget = (unbanCount: number): Budget => {
      const ban: BanPolicy = { keyLine: '1', unbanCount, afterRejections: 2, lengthMs: 300_000 };
      return { ...owner('1', 1, 5), ban };
    };
    await storage.take(budget(1));
    await storage.take(budget(1));
    // The same line by another key, of which the unban is not known yet.
    const bannedUntilMs = START_MS + 300_000;
    expect(await storage.take(budget(0))).toMatchObject({ bannedUntilMs, banBegins: true });
    expect(await storage.peek(budget(0))).toMatchObject({ allowed: false, bannedUntilMs });
    expect(await storage.peek(budget(1))).toMatchObject({ allowed: false, bannedUntilMs });
    expect(await storage.peek(budget(2))).not.toHaveProperty('bannedUntilMs');
  });

  it('count a request that is reserved, and let ten lookups per second pass beyond the budget', async () => {
    const { storage, setClock } = await create();
    const budget = address('1', 3);
    for (const used of [1, 2, 3]) {
      expect(await storage.reserve(budget)).toMatchObject({
        reading: { allowed: true, windows: [{ used, endsAtMs: START_MS + MINUTE_MS }] },
        mayLookUp: true,
      });
    }
    const overLimit = { allowed: false, windows: [{ used: 3, endsAtMs: START_MS + MINUTE_MS }] };
    for (const moment of [0, 1_000, 2_500]) {
      setClock(START_MS + moment);
      for (let time = 0; time < LOOKUP_LIMIT.perSecond; time++) {
        const reservation = await storage.reserve(budget);
        expect(reservation).toMatchObject({ reading: overLimit, mayLookUp: true });
        expect(await reservation.giveBack()).toMatchObject(overLimit);
      }
      for (const later of [0, 999]) {
        setClock(START_MS + moment + later);
        expect(await storage.reserve(budget)).toMatchObject({
          reading: overLimit,
          mayLookUp: false,
        });
      }
    }
    setClock(START_MS + MINUTE_MS);
    expect(await storage.reserve(budget)).toMatchObject({ reading: { allowed: true } });
  });

  it('let no more requests and lookups pass when many are reserved at once', async () => {
    const { storage } = await create();
    const reservations = await Promise.all(
      Array.from({ length: 100 }, async () => storage.reserve(address('1', 20))),
    );
    expect(reservations.filter(({ reading }) => reading.allowed)).toHaveLength(20);
    expect(reservations.filter(({ mayLookUp }) => mayLookUp)).toHaveLength(30);
  });

  it('show a budget as before once a reserved request is given back', async () => {
    const { storage, setClock } = await create();
    const budget = address('1', 5);
    const first = await storage.reserve(budget);
    setClock(START_MS + 10);
    await storage.take(budget);
    // The window goes on: another request is counted in it.
    const after = { allowed: true, windows: [{ used: 1, endsAtMs: START_MS + MINUTE_MS }] };
    expect(await first.giveBack()).toMatchObject(after);
    expect(await storage.peek(budget)).toMatchObject(after);

    const other = address('2', 5);
    const only = await storage.reserve(other);
    setClock(START_MS + 20);
    // No request is counted: no window has begun.
    const unused = { allowed: true, windows: [{ used: 0, endsAtMs: START_MS + 20 + MINUTE_MS }] };
    expect(await only.giveBack()).toMatchObject(unused);
    expect(await storage.peek(other)).toMatchObject(unused);
  });

  it('do not give a request back to a window in which it was not counted', async () => {
    const { storage, setClock } = await create();
    const budget = address('1', 5);
    const reservation = await storage.reserve(budget);
    setClock(START_MS + MINUTE_MS);
    await storage.take(budget);
    const after = { windows: [{ used: 1, endsAtMs: START_MS + 2 * MINUTE_MS }] };
    expect(await reservation.giveBack()).toMatchObject(after);
    expect(await storage.peek(budget)).toMatchObject(after);
  });
}

/** Takes a request in one of the ways in which it is counted once. */
async function takeOrReserve(
  storage: LimitStorage,
  budget: Budget,
  random: () => number,
): Promise<Reading> {
  if (budget.kind !== 'address' || random() < 0.3) return storage.take(budget);
  if (random() < 0.5) await (await storage.reserve(budget)).giveBack();
  return (await storage.reserve(budget)).reading;
}
