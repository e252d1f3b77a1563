// @ts-check
// What counters in the process cost: memory of a million idle owners and of a flood of addresses, and
// the time of one decision. Run it after a build: node --expose-gc bench/limit-memory.mjs [--json]
import { Clock } from '#dist/config/clock.js';
import { InProcessStorage } from '#dist/rate-limit/in-process-storage.js';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const TAKES = 1_000_000;

class SetClock extends Clock {
  nowMs = Date.now();
  now() {
    return this.nowMs;
  }
}

/** @typedef {import('../src/rate-limit/limit-storage.js').Budget} Budget */

/**
 * As the service makes it for every request.
 * @param {number} id
 * @returns {Budget}
 */
function owner(id) {
  return {
    kind: 'owner',
    plan: 'business',
    id: BigInt(id).toString(),
    quotas: [
      { name: 'minute', limit: 1_000_000_000, lengthMs: MINUTE_MS },
      { name: 'day', limit: 1_000_000_000, lengthMs: DAY_MS },
    ],
    ban: { keyLine: String(id), unbanCount: 0, afterRejections: 1_000, lengthMs: 5 * MINUTE_MS },
  };
}

/**
 * @param {number} id
 * @returns {Budget}
 */
function address(id) {
  return {
    kind: 'address',
    plan: 'anonymous',
    id: `2001:db8:${(id >>> 16).toString(16)}:${(id & 0xffff).toString(16)}::/64`,
    quotas: [{ name: 'minute', limit: 300, lengthMs: MINUTE_MS }],
  };
}

/** Bytes in use after a collection, on the heap and in typed arrays. */
function usedBytes() {
  globalThis.gc?.();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

/**
 * @param {InProcessStorage} storage
 * @param {number} count
 * @param {(id: number) => Budget} budgetOf
 * @returns {number} the longest time that one of them took, in milliseconds
 */
function takeEach(storage, count, budgetOf) {
  let longestMs = 0;
  for (let id = 1; id <= count; id++) {
    const budget = budgetOf(id);
    const startedAt = performance.now();
    storage.take(budget);
    longestMs = Math.max(longestMs, performance.now() - startedAt);
  }
  return longestMs;
}

/**
 * The time of one decision for an owner among so many that are known, in nanoseconds.
 * @param {InProcessStorage} storage
 * @param {number} owners
 */
function nanosecondsPerTake(storage, owners) {
  const budgets = Array.from({ length: TAKES }, () =>
    owner(1 + Math.floor(Math.random() * owners)),
  );
  for (const budget of budgets.slice(0, TAKES / 4)) storage.take(budget);
  const startedAt = performance.now();
  for (const budget of budgets) storage.take(budget);
  return Math.round(((performance.now() - startedAt) * 1e6) / TAKES);
}

/** @param {number} bytes */
const megabytes = (bytes) => `${Math.round(bytes / 1e6)} MB`;

if (!globalThis.gc) throw new Error('run it with --expose-gc');
const clock = new SetClock();
const before = usedBytes();
const storage = new InProcessStorage(clock, { perSecond: 10 });

takeEach(storage, 1_000, owner);
const nsOfThousand = nanosecondsPerTake(storage, 1_000);
const longestMs = takeEach(storage, 1_000_000, owner);
const ownerBytes = usedBytes() - before;
const nsOfMillion = nanosecondsPerTake(storage, 1_000_000);

const beforeFlood = usedBytes();
takeEach(storage, 1_000_000, address);
const floodBytes = usedBytes() - beforeFlood;

clock.nowMs += 2 * DAY_MS;
const beforeRenewal = usedBytes();
takeEach(storage, 1_000_000, (id) => owner(1_000_000 + id));
const renewalBytes = usedBytes() - beforeRenewal;

if (process.argv.includes('--json')) {
  console.log(JSON.stringify({ ownerBytes, floodBytes, renewalBytes, nsOfThousand, nsOfMillion }));
} else {
  console.table({
    'a million owners, two windows each': megabytes(ownerBytes),
    'one owner': `${Math.round(ownerBytes / 1_000_000)} bytes`,
    'a million addresses in a minute, 200,000 of them remembered': megabytes(floodBytes),
    'another million owners two days later, in place of the first': megabytes(renewalBytes),
    'one decision among 1,000 owners': `${nsOfThousand} ns`,
    'one decision among 1,000,000 owners': `${nsOfMillion} ns`,
    'the longest decision while the table grew to a million': `${Math.round(longestMs)} ms`,
  });
}
