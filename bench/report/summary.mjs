// @ts-check
import { LIMITS, TARGETS } from './targets.mjs';

/**
 * @typedef {{ median: number, min: number, max: number }} Spread
 * @typedef {Record<keyof import('../comparison/rounds.mjs').Sample, Spread>} Figures
 *
 * @typedef {{ scenario: string, title: string, peer: string, peerTitle: string, figures: Figures, samples: import('../comparison/rounds.mjs').Sample[] }} Row
 *
 * @typedef {object} Verdict
 * @property {string} what
 * @property {number} value
 * @property {number} limit
 * @property {'at most' | 'at least'} bound
 * @property {boolean} goal hoped for, not required
 * @property {boolean} reached
 */

/**
 * Returns the middle of the values, the least and the greatest.
 *
 * @param {readonly number[]} values one at least
 * @returns {Spread}
 */
export function spread(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (/** @type {number} */ place) => sorted[place] ?? NaN;
  const middle = (sorted.length - 1) / 2;
  return {
    median: (at(Math.floor(middle)) + at(Math.ceil(middle))) / 2,
    min: at(0),
    max: at(sorted.length - 1),
  };
}

/**
 * @param {import('../comparison/rounds.mjs').Result[]} results
 * @returns {Row[]}
 */
export function summarise(results) {
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
 * Returns how the run stands to what is to be reached, as far as it was measured.
 *
 * @param {Row[]} rows
 * @returns {Verdict[]}
 */
export function judgeRatios(rows) {
  /** @param {string} scenario @param {string} peer */
  const find = (scenario, peer) =>
    rows.find((row) => row.scenario === scenario && row.peer === peer);
  return TARGETS.flatMap(({ figure, scenario, peer, against, goal = false, ...target }) => {
    const is = find(scenario, peer);
    const other = find(target.againstScenario ?? scenario, against);
    if (!is || !other) return [];
    const value = is.figures[figure].median / other.figures[figure].median;
    const than = target.againstScenario ? other.title : other.peerTitle;
    return [judge(`${is.title}, ${is.peerTitle}: ${figure} against ${than}`, value, target, goal)];
  });
}

/**
 * @param {{ idleOwnersBytes: number, bytesPerCounter: number }} counters
 * @returns {Verdict[]}
 */
export function judgeCounters({ idleOwnersBytes, bytesPerCounter }) {
  return [
    judge('bytes a counter', bytesPerCounter, { atMost: LIMITS.bytesPerCounter }),
    judge('bytes of a million idle owners', idleOwnersBytes, { atMost: LIMITS.idleOwnersBytes }),
  ];
}

/**
 * @param {{ warmMs: number[], databaseUrlMs: number[] }} starts
 * @returns {Verdict[]}
 */
export function judgeStarts({ warmMs, databaseUrlMs }) {
  return [
    judge('ms of a warm embedded start', spread(warmMs).median, { atMost: LIMITS.warmStartMs }),
    judge('ms of a start with DATABASE_URL', spread(databaseUrlMs).median, {
      atMost: LIMITS.databaseUrlStartMs,
    }),
  ];
}

/**
 * @param {import('../measurements/overload.mjs').Overload} overload
 * @returns {Verdict[]}
 */
export function judgeOverload({ phases }) {
  const limits = LIMITS.overload;
  return phases.flatMap(({ title, goodputShare, p99Ms, liveNewMs, liveOpenMs, ...phase }) => {
    const [before, most] = phase.residentBytes;
    return [
      // New connections cost more than requests: the peak of kept connections is no measure for
      // them.
      ...(phase.isArrivals
        ? []
        : [judge(`${title}: share of the peak`, goodputShare, { atLeast: limits.goodputShare })]),
      judge(`${title}: p99 ms of accepted requests`, p99Ms, { atMost: limits.acceptedP99Ms }),
      judge(`${title}: slowest /health/live, ms`, Math.max(liveNewMs, liveOpenMs), {
        atMost: limits.liveMs,
      }),
      judge(`${title}: memory growth, MB`, (most - before) / 1e6, {
        atMost: limits.memoryGrowthBytes / 1e6,
      }),
      judge(`${title}: ms until back to normal`, phase.recoveryMs, { atMost: limits.recoveryMs }),
    ];
  });
}

/**
 * @param {string} what
 * @param {number} value
 * @param {{ atMost?: number, atLeast?: number }} bounds one of them
 * @returns {Verdict}
 */
function judge(what, value, { atMost, atLeast = -Infinity }, goal = false) {
  return atMost === undefined
    ? { what, value, limit: atLeast, bound: 'at least', goal, reached: value >= atLeast }
    : { what, value, limit: atMost, bound: 'at most', goal, reached: value <= atMost };
}
