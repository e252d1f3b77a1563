import { InProcessStorage } from '../../../src/platform/rate-limit/in-process-storage.js';
import type { Budget } from '../../../src/platform/rate-limit/limit-storage.js';
import { address, owner, START_MS } from '../../harness/rate-limit/limit-model.js';

test('counters in the process hold at most 200,000 addresses, and every owner', async () => {
  const storage = new InProcessStorage({ now: () => START_MS, monotonicMs: () => START_MS });
  const owners = Array.from({ length: 1_000 }, (_, index) => owner(String(index), 5, 5));
  const addresses = Array.from({ length: 201_000 }, (_, index) => address(String(index), 5));
  for (const budget of [...owners, ...addresses]) await storage.decide(budget, 'consume');
  const held = (budgets: Budget[]): number =>
    budgets.filter((budget) => storage.peekLocal(budget).windows[0]?.used === 1).length;
  expect([held(owners), held(addresses)]).toEqual([1_000, 200_000]);
});
