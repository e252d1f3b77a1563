// @ts-check
import { spread } from './summary.mjs';

/** @typedef {import('./summary.mjs').Row} Row */
/** @typedef {import('./summary.mjs').Spread} Spread */

/** @param {number} value @returns {string} */
const formatted = (value) =>
  Number.isNaN(value) ? '–' : value.toFixed(value < 10 ? 2 : 0).replace(/\B(?=(\d{3})+$)/g, ',');

/** @param {Spread} figure */
const formattedSpread = ({ median, min, max }) =>
  `${formatted(median)} (${formatted(min)}–${formatted(max)})`;

/**
 * Returns a table for each scenario with the medians of all figures. Adds the minimum and maximum to
 * the requests per second and the CPU time of Node.js.
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
          formattedSpread(figures.requestsPerSecond),
          formatted(figures.p50Ms.median),
          formatted(figures.p99Ms.median),
          formattedSpread(figures.nodeUs),
          formatted(figures.postgresUs.median),
          formatted(figures.redisUs.median),
          formatted(figures.residentBytes.median / 1e6),
        ]);
      const head = [
        title,
        'requests/s',
        'p50 ms',
        'p99 ms',
        'Node.js µs',
        'PostgreSQL µs',
        'Redis µs',
        'MB',
      ];
      return aligned([head, ...lines]);
    })
    .join('\n\n');
}

/** @param {import('./summary.mjs').Goal[]} goals */
export function goalsText(goals) {
  return aligned(
    goals.map(({ title, value, bound, limit, isOptional, isMet }) => [
      title,
      formatted(value),
      `${bound} ${formatted(limit)}`,
      isMet ? 'met' : isOptional ? 'missed (optional)' : 'MISSED',
    ]),
  );
}

/** @param {{ coldMs: number[], warmMs: number[], databaseUrlMs: number[] }} starts */
export function startsText(starts) {
  return aligned([
    ['start until ready', 'ms'],
    ['new embedded database', formattedSpread(spread(starts.coldMs))],
    ['existing embedded database', formattedSpread(spread(starts.warmMs))],
    ['with DATABASE_URL', formattedSpread(spread(starts.databaseUrlMs))],
  ]);
}

/** @param {import('../measurements/overload.mjs').Overload} overload */
export function overloadText({ peakPerSecond, peakP99Ms, phases }) {
  const head = [
    `overload (peak: ${formatted(peakPerSecond)} lists/s, p99 ${formatted(peakP99Ms)} ms)`,
    ...['offered', 'per s', 'unsent', '200', '503', 'broken', 'goodput / peak', 'p99 ms'],
    ...['live, new ms', 'live, open ms', 'MB before, max, after', 'recovery ms'],
  ];
  const lines = phases.map((phase) => [
    phase.title,
    ...[phase.offered, phase.offeredPerSecond, phase.unsent].map(formatted),
    ...[phase.accepted, phase.rejected, phase.broken].map(formatted),
    `${formatted(phase.goodputShare * 100)} %`,
    ...[phase.p99Ms, phase.liveNewMs, phase.liveOpenMs].map(formatted),
    phase.residentBytes.map((bytes) => formatted(bytes / 1e6)).join(', '),
    formatted(phase.recoveryMs),
  ]);
  return aligned([head, ...lines]);
}

/** @param {string[][]} lines cells; the first column is aligned to the left, the others to the right */
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
