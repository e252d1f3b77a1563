// @ts-check
/** @typedef {import('./summary.mjs').Row} Row */
/** @typedef {import('./summary.mjs').Spread} Spread */

/** @param {number} value @returns {string} */
const round = (value) =>
  Number.isNaN(value) ? '–' : value.toFixed(value < 10 ? 2 : 0).replace(/\B(?=(\d{3})+$)/g, ',');

/** @param {Spread} figure */
const withSpread = ({ median, min, max }) => `${round(median)} (${round(min)}–${round(max)})`;

/**
 * Returns a table for each scenario: medians, and the least and greatest of those to be trusted
 * most and least.
 *
 * @param {Row[]} rows
 */
export function figuresText(rows) {
  const scenarios = [...new Set(rows.map(({ title }) => title))];
  return scenarios
    .map((title) => {
      const lines = rows
        .filter((row) => row.title === title)
        .map(({ peerTitle, figures }) => [
          peerTitle,
          withSpread(figures.requestsPerSecond),
          round(figures.p50Ms.median),
          round(figures.p99Ms.median),
          withSpread(figures.nodeUs),
          round(figures.postgresUs.median),
          round(figures.redisUs.median),
          round(figures.residentBytes.median / 1e6),
        ]);
      const head = [
        title,
        'requests/s',
        'p50 ms',
        'p99 ms',
        'Node µs',
        'PostgreSQL µs',
        'Redis µs',
        'MB',
      ];
      return aligned([head, ...lines]);
    })
    .join('\n\n');
}

/** @param {import('./summary.mjs').Verdict[]} verdicts */
export function verdictsText(verdicts) {
  return aligned(
    verdicts.map(({ what, value, bound, limit, goal, reached }) => [
      what,
      round(value),
      `${bound} ${round(limit)}`,
      reached ? 'reached' : goal ? 'goal, missed' : 'MISSED',
    ]),
  );
}

/** @param {{ coldMs: number[], warmMs: number[], databaseUrlMs: number[] }} starts @param {(values: number[]) => Spread} spread */
export function startsText(starts, spread) {
  return aligned([
    ['start until ready', 'ms'],
    ['embedded, made first', withSpread(spread(starts.coldMs))],
    ['embedded, there already', withSpread(spread(starts.warmMs))],
    ['with DATABASE_URL', withSpread(spread(starts.databaseUrlMs))],
  ]);
}

/** @param {import('../measurements/overload.mjs').Overload} overload */
export function overloadText({ peakPerSecond, peakP99Ms, phases }) {
  const head = [
    `overload (peak: ${round(peakPerSecond)} lists/s, p99 ${round(peakP99Ms)} ms)`,
    ...['offered', 'per s', 'unsent', '200', '503', 'broken', 'of the peak', 'p99 ms'],
    ...['live, new ms', 'live, open ms', 'MB before, most, after', 'normal after ms'],
  ];
  const lines = phases.map((phase) => [
    phase.title,
    ...[phase.offered, phase.offeredPerSecond, phase.unsent].map(round),
    ...[phase.accepted, phase.shed, phase.broken].map(round),
    `${round(phase.goodputShare * 100)} %`,
    ...[phase.p99Ms, phase.liveNewMs, phase.liveOpenMs].map(round),
    phase.residentBytes.map((bytes) => round(bytes / 1e6)).join(', '),
    round(phase.recoveryMs),
  ]);
  return aligned([head, ...lines]);
}

/** @param {string[][]} lines the first column to the left, the others to the right */
export function aligned(lines) {
  const width = (/** @type {number} */ column) =>
    Math.max(...lines.map((line) => line[column]?.length ?? 0));
  return lines
    .map((line) =>
      line
        .map((cell, column) =>
          column === 0 ? cell.padEnd(width(0)) : cell.padStart(width(column) + 2),
        )
        .join(''),
    )
    .join('\n');
}
