// @ts-check
import { LIMITS, TARGETS } from './targets.mjs';

/**
 * @typedef {{ median: number, min: number, max: number }} Spread
 * @typedef {Record<keyof import('../comparison/rounds.mjs').Sample, Spread>} Figures
 *
 * @typedef {{ scenario: string, title: string, peer: string, peerTitle: string, figures: Figures, samples: import('../comparison/rounds.mjs').Sample[] }} Row
 *
 * @typedef {object} Goal
 * @property {string} title
 * @property {number} value
 * @property {number} limit
 * @property {'at most' | 'at least'} bound
 * @property {boolean} isOptional
 * @property {boolean} isMet
 */

/**
 * Returns the median, the minimum and the maximum.
 *
 * @param {readonly number[]} values at least one
 * @returns {Spread}
 */
export function spread(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (/** @type {number} */ index) => sorted[index] ?? NaN;
  const middle = (sorted.length - 1) / 2;
  return {
    median: (at(Math.floor(middle)) + at(Math.ceil(middle))) / 2,
    min: at(0),
    max: at(sorted.length - 1),
  };
}

/**
 * Summarizes the samples of each scenario and peer.
 *
 * @param {import('../comparison/rounds.mjs').Result[]} results
 * @returns {Row[]}
 */
export function summarize(results) {
  return results.map(({ scenario, peer, samples }) => {
    const names = /** @type {(keyof Figures)[]} */ (Object.keys(samples[0] ?? {}));
    const figures = names.map((name) => [name, spread(samples.map((sample) => sample[name]))]);
    return {
      scenario: scenario.name,
      title: scenario.title,
      peer: peer.name,
      peerTitle: peer.title,
      figures: Object.fromEntries(figures),
      samples,
    };
  });
}

/**
 * Compares the ratios of a run with the targets. Omits ratios that the run did not measure.
 *
 * @param {Row[]} rows
 * @returns {Goal[]}
 */
export function evaluateRatios(rows) {
  /** @param {string} scenario @param {string} peer */
  const find = (scenario, peer) =>
    rows.find((row) => row.scenario === scenario && row.peer === peer);
  return TARGETS.flatMap((target) => {
    const { figure, scenario, peer, otherPeer, otherScenario } = target;
    const row = find(scenario, peer);
    const other = find(otherScenario ?? scenario, otherPeer);
    if (!row || !other) return [];
    const value = row.figures[figure].median / other.figures[figure].median;
    const otherTitle = otherScenario ? other.title : other.peerTitle;
    const title = `${row.title}: ${figure}, ${row.peerTitle} / ${otherTitle}`;
    return [evaluate(title, value, target, target.optional)];
  });
}

/**
 * @param {{ idleOwnersBytes: number, bytesPerCounter: number }} counters
 * @returns {Goal[]}
 */
export function evaluateCounters({ idleOwnersBytes, bytesPerCounter }) {
  return [
    evaluate('counters, bytes per counter', bytesPerCounter, { atMost: LIMITS.bytesPerCounter }),
    evaluate('counters, bytes of 1,000,000 idle owners', idleOwnersBytes, {
      atMost: LIMITS.idleOwnersBytes,
    }),
  ];
}

/**
 * @param {{ warmMs: number[], databaseUrlMs: number[] }} starts
 * @returns {Goal[]}
 */
export function evaluateStarts({ warmMs, databaseUrlMs }) {
  return [
    evaluate('start, existing embedded database, ms', spread(warmMs).median, {
      atMost: LIMITS.warmStartMs,
    }),
    evaluate('start, DATABASE_URL, ms', spread(databaseUrlMs).median, {
      atMost: LIMITS.databaseUrlStartMs,
    }),
  ];
}

/**
 * @param {import('../measurements/overload.mjs').Overload} overload
 * @returns {Goal[]}
 */
export function evaluateOverload({ phases }) {
  const limits = LIMITS.overload;
  return phases.flatMap(({ title, goodputShare, p99Ms, liveNewMs, liveOpenMs, ...phase }) => {
    const [before, max] = phase.residentBytes;
    return [
      // A new connection costs more than a request, so the peak of open connections is no
      // reference for arrivals.
      ...(phase.isArrivals
        ? []
        : [evaluate(`${title}: goodput / peak`, goodputShare, { atLeast: limits.goodputShare })]),
      evaluate(`${title}: p99 of accepted requests, ms`, p99Ms, { atMost: limits.acceptedP99Ms }),
      evaluate(`${title}: slowest /health/live, ms`, Math.max(liveNewMs, liveOpenMs), {
        atMost: limits.liveMs,
      }),
      evaluate(`${title}: memory growth, MB`, (max - before) / 1e6, {
        atMost: limits.memoryGrowthBytes / 1e6,
      }),
      evaluate(`${title}: recovery, ms`, phase.recoveryMs, { atMost: limits.recoveryMs }),
    ];
  });
}

/**
 * @param {string} title
 * @param {number} value
 * @param {{ atMost?: number, atLeast?: number }} limits one of them
 * @returns {Goal}
 */
function evaluate(title, value, { atMost, atLeast = -Infinity }, isOptional = false) {
  return atMost === undefined
    ? { title, value, limit: atLeast, bound: 'at least', isOptional, isMet: value >= atLeast }
    : { title, value, limit: atMost, bound: 'at most', isOptional, isMet: value <= atMost };
}
