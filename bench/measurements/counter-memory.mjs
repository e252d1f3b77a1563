// @ts-check
// Measures the rate limit counters in the process: the memory of 1,000,000 owners and 1,000,000
// addresses, and the time of one decision. Run it after a build:
//   node --expose-gc bench/measurements/counter-memory.mjs [--json]
import { Clock, DAY_MS, MINUTE_MS } from '#dist/platform/config/clock.js';
import { InProcessStorage } from '#dist/platform/rate-limit/in-process-storage.js';

const DECISIONS = 1_000_000;

class ManualClock extends Clock {
  nowMs = Date.now();
  now() {
    return this.nowMs;
  }
}

/** @typedef {import('../../src/platform/rate-limit/limit-storage.js').Budget} Budget */

/**
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
    ban: { lineageId: String(id), unbanCount: 0, afterRejections: 1_000, lengthMs: 5 * MINUTE_MS },
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

/** Returns the bytes in use after a garbage collection, on the heap and in typed arrays. */
function usedBytes() {
  globalThis.gc?.();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

/**
 * @param {InProcessStorage} storage
 * @param {number} count
 * @param {(id: number) => Budget} budgetOf
 * @returns {Promise<number>} duration of the longest decision in milliseconds
 */
async function consumeEach(storage, count, budgetOf) {
  let longestMs = 0;
  for (let id = 1; id <= count; id++) {
    const budget = budgetOf(id);
    const startedAt = performance.now();
    await storage.decide(budget, 'consume');
    longestMs = Math.max(longestMs, performance.now() - startedAt);
  }
  return longestMs;
}

/**
 * Returns the time of one decision in nanoseconds.
 * @param {InProcessStorage} storage
 * @param {number} owners number of owners that have counters
 */
async function nanosecondsPerDecision(storage, owners) {
  const budgets = Array.from({ length: DECISIONS }, () =>
    owner(1 + Math.floor(Math.random() * owners)),
  );
  for (const budget of budgets.slice(0, DECISIONS / 4)) await storage.decide(budget, 'consume');
  const startedAt = performance.now();
  for (const budget of budgets) await storage.decide(budget, 'consume');
  return Math.round(((performance.now() - startedAt) * 1e6) / DECISIONS);
}

/** @param {number} bytes */
const megabytes = (bytes) => `${Math.round(bytes / 1e6)} MB`;

if (!globalThis.gc) throw new Error('Run this program with node --expose-gc.');
const clock = new ManualClock();
const before = usedBytes();
const storage = new InProcessStorage(clock);

await consumeEach(storage, 1_000, owner);
const nsWith1000 = await nanosecondsPerDecision(storage, 1_000);
const longestMs = await consumeEach(storage, 1_000_000, owner);
const ownerBytes = usedBytes() - before;
const nsWith1000000 = await nanosecondsPerDecision(storage, 1_000_000);

const beforeFlood = usedBytes();
await consumeEach(storage, 1_000_000, address);
const floodBytes = usedBytes() - beforeFlood;

clock.nowMs += 2 * DAY_MS;
const beforeRenewal = usedBytes();
await consumeEach(storage, 1_000_000, (id) => owner(1_000_000 + id));
const renewalBytes = usedBytes() - beforeRenewal;

if (process.argv.includes('--json')) {
  console.log(JSON.stringify({ ownerBytes, floodBytes, renewalBytes, nsWith1000, nsWith1000000 }));
} else {
  console.table({
    '1,000,000 owners, two windows each': megabytes(ownerBytes),
    'one owner': `${Math.round(ownerBytes / 1_000_000)} bytes`,
    '1,000,000 addresses within a minute (the storage keeps 200,000)': megabytes(floodBytes),
    '1,000,000 other owners two days later, which replace the first': megabytes(renewalBytes),
    'one decision among 1,000 owners': `${nsWith1000} ns`,
    'one decision among 1,000,000 owners': `${nsWith1000000} ns`,
    'longest decision while the table grew to 1,000,000': `${Math.round(longestMs)} ms`,
  });
}
