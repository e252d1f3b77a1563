import fc from 'fast-check';
import { ApiClient } from '../harness/http/client.js';
import { createOwner } from '../harness/database/factories.js';
import { limitsOf } from '../harness/rate-limit/limits.js';
import { startService, type TestService } from '../harness/service/service.js';
import { LimitModel, owner as budgetOf } from '../harness/rate-limit/limit-model.js';
import { holds } from '../harness/fuzz/property.js';

let service: TestService;

beforeAll(async () => {
  service = await startService({ env: { BAN_AFTER_REJECTIONS: '0', LOG_LEVEL: 'warn' } });
});
afterAll(() => service.close());

/** A method of a request, or the number of milliseconds by which the clock advances. */
const step = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom('GET', 'HEAD', 'OPTIONS', 'DELETE', 'POST') },
  fc.integer({ min: 1, max: 90_000 }),
  fc.constantFrom(59_999, 60_000, 86_399_999, 86_400_000),
);

const plan = fc.record({
  perMinute: fc.integer({ min: 1, max: 6 }),
  perDay: fc.integer({ min: 1, max: 12 }),
});

interface Window {
  remaining: number;
  limit: number;
  reset: number;
}

/** Returns the window that the headers describe: the one that rejects, else the one with fewer requests remaining. */
function described(windows: Window[], isAllowed: boolean): Window {
  const shown = isAllowed ? windows : windows.filter(({ remaining }) => remaining === 0);
  const [first] = shown.sort((a, b) => a.remaining - b.remaining || b.reset - a.reset);
  if (!first) throw new Error('rejected by no window');
  return first;
}

test('every request is counted once in both windows or in neither, and its headers match the counts', async () => {
  await holds(fc.tuple(plan, fc.array(step, { maxLength: 40 })), async ([limits, steps]) => {
    const { id, key } = await createOwner(service.database, { limits });
    const client = new ApiClient(service, key);
    const model = new LimitModel();
    for (const next of steps) {
      if (typeof next === 'number') {
        await service.advance(next);
        continue;
      }
      const budget = budgetOf(id, limits.perMinute, limits.perDay);
      const { allowed, windows } = model.consume(budget, service.nowMs());
      const response = await client.send('/v1/nothing', { method: next });
      expect(response.status === 429).toBe(!allowed);
      const states = windows.map(({ quota, used, endsAtMs }) => ({
        limit: quota.limit,
        remaining: quota.limit - used,
        reset: Math.ceil(endsAtMs / 1_000),
      }));
      expect(limitsOf(response)).toEqual(described(states, allowed));
    }
  });
});
