// @ts-check
/** @typedef {import('../load/load-generator.mjs').LoadResult} LoadResult */

/**
 * Goodput and latency are compared in windows. The service has recovered when a window is as good
 * as the worst tenth of the windows before the load.
 */
const WINDOW_MS = 250;
const WINDOW_STEP_MS = 50;
const WORST_SHARE = 0.1;

/** @param {LoadResult} result @returns {number} accepted requests per second */
export function goodput({ statuses, seconds }) {
  return (statuses['200'] ?? 0) / seconds;
}

/**
 * Returns the end of the first window whose goodput and p99 are as good as before the load, in
 * milliseconds, or Infinity if there is none.
 *
 * @param {LoadResult} before
 * @param {LoadResult} after starts when the load ends
 */
export function recoveryMs(before, after) {
  const normal = windows(before);
  const lowestRate = percentile(
    Float64Array.from(normal, ({ accepted }) => accepted),
    WORST_SHARE,
  );
  const highestP99Ms = percentile(
    Float64Array.from(normal, ({ p99Ms }) => p99Ms),
    1 - WORST_SHARE,
  );
  const recovered = windows(after).find(
    ({ accepted, p99Ms }) => accepted >= lowestRate && p99Ms <= highestP99Ms,
  );
  return recovered?.endMs ?? Infinity;
}

/** @param {LoadResult} result */
function windows({ acceptedAtMs, acceptedMs, seconds }) {
  const count = Math.floor((seconds * 1_000 - WINDOW_MS) / WINDOW_STEP_MS) + 1;
  return Array.from({ length: count }, (_, index) => {
    const startMs = index * WINDOW_STEP_MS;
    const endMs = startMs + WINDOW_MS;
    const first = acceptedAtMs.findIndex((atMs) => atMs >= startMs);
    const next = acceptedAtMs.findIndex((atMs) => atMs >= endMs);
    const latencies = first < 0 ? [] : acceptedMs.slice(first, next < 0 ? undefined : next);
    return {
      endMs,
      accepted: latencies.length,
      p99Ms: percentile(Float64Array.from(latencies), 0.99),
    };
  });
}

/** @param {Float64Array} values @param {number} share @returns {number} Infinity if there are no values */
export function percentile(values, share) {
  return (
    values.toSorted()[Math.min(values.length - 1, Math.floor(values.length * share))] ?? Infinity
  );
}
