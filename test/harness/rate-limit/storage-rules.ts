import { isDeepStrictEqual } from 'node:util';
import type {
  BanPolicy,
  Budget,
  LimitStorage,
} from '../../../src/platform/rate-limit/limit-storage.js';
import { oneOf, seededRandom } from '../http/random.js';
import { address, LimitModel, owner, START_MS, withRoute } from './limit-model.js';
import { DAY_MS, MINUTE_MS } from './limits.js';

/** An empty storage whose clock is at START_MS. */
export interface StorageUnderTest {
  storage: LimitStorage;
  setClock: (nowMs: number) => void;
}

const STEPS = [0, 1, 999, 1_000, 9_000, 30_000, 59_999, MINUTE_MS, 300_000, DAY_MS / 3, DAY_MS];

/** Routes with a limit of their own, and the lengths of their windows. */
const ROUTES = { 'Toys.create': 1_000, 'Toys.list': 30_000, 'Notes.create': 300_000 };

/** Lineages, and the lengths of their bans. */
const BANS = { a: 7_000, b: 90_000 };

/** Tests the rules that every storage keeps. @param create called once per test */
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
        const [lineage, banMs] = oneOf(Object.entries(BANS), random);
        const lineageId = `${id} ${lineage}`;
        if (random() < 0.01) unbans.set(lineageId, (unbans.get(lineageId) ?? 0) + 1);
        const caller: Budget =
          random() < 0.15
            ? address(id, oneOf([1, 3, 8], random))
            : {
                ...owner(id, oneOf([2, 3, 4, 9], random), oneOf([8, 20, 40], random)),
                ban: {
                  lineageId,
                  unbanCount: unbans.get(lineageId) ?? 0,
                  afterRejections: oneOf([2, 3, 4, 5], random),
                  lengthMs: banMs,
                },
              };
        const [route, lengthMs] = oneOf(Object.entries(ROUTES), random);
        const budget =
          random() < 0.3 ? caller : withRoute(caller, route, oneOf([1, 2, 5], random), lengthMs);
        const expected = model.consume(budget, nowMs);
        const peeked = await storage.decide(budget, 'peek');
        const decision = await storage.decide(budget, 'consume');
        // An expect() for each step would take most of the time.
        if (!isDeepStrictEqual(decision, expected))
          expect({ step, decision }).toEqual({ step, decision: expected });
        if (peeked.allowed !== expected.allowed) expect(peeked).toEqual(expected);
        // The state that the decision left.
        const { windows } = storage.peekLocal(budget);
        if (!isDeepStrictEqual(windows, decision.windows))
          expect({ step, windows }).toEqual({ step, windows: decision.windows });
        if (expected.allowed) outcomes.allowed++;
        else outcomes[expected.bannedUntilMs === 0 ? 'rejected' : 'banned']++;
      }
      for (const count of Object.values(outcomes)) expect(count).toBeGreaterThan(length / 30);
    },
  );

  it('ban a key whose cached state is from before an unban, once it is banned again', async () => {
    const { storage } = await create();
    const budget = (unbanCount: number): Budget => {
      const ban: BanPolicy = { lineageId: '1', unbanCount, afterRejections: 2, lengthMs: 300_000 };
      return { ...owner('1', 1, 5), ban };
    };
    await storage.decide(budget(1), 'consume');
    await storage.decide(budget(1), 'consume');
    // Another key of the same lineage, whose unban is not in the cache yet.
    const bannedUntilMs = START_MS + 300_000;
    expect(await storage.decide(budget(0), 'consume')).toMatchObject({
      bannedUntilMs,
      banBegins: true,
    });
    expect(await storage.decide(budget(0), 'peek')).toMatchObject({
      allowed: false,
      bannedUntilMs,
    });
    expect(await storage.decide(budget(1), 'peek')).toMatchObject({
      allowed: false,
      bannedUntilMs,
    });
    expect(await storage.decide(budget(2), 'peek')).toMatchObject({ bannedUntilMs: 0 });
  });
}
