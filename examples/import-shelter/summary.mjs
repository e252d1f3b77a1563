// @ts-check
// What became of the rows: counted while the import runs, told at its end.

import { duration, grouped } from './progress.mjs';

const FIRST_ROWS = 5;

/**
 * @typedef {import('./resume-file.mjs').FinishedRow} FinishedRow
 *
 * @typedef {object} RefusalGroup refusals with the same status, code and message
 * @property {number} status
 * @property {string} code
 * @property {string} message
 * @property {number} count
 * @property {number[]} firstRows the lowest row numbers
 *
 * @typedef {object} Summary
 * @property {string} file
 * @property {string} url
 * @property {string} state path of the state file
 * @property {number} rows of the file (at most `--limit-rows`)
 * @property {number} added over all runs
 * @property {number} refused over all runs
 * @property {number} left rows without an answer yet
 * @property {RefusalGroup[]} refusals over all runs, the most frequent first
 * @property {Record<string, number>} unmappedCategories value → rows, sent as they are
 * @property {Record<string, number>} unmappedStatuses value → rows, sent with the default
 * @property {RunFigures} run of this run
 *
 * @typedef {object} RunFigures
 * @property {number} sent rows finished
 * @property {number} added
 * @property {number} refused
 * @property {number} replayed rows that an interrupted run had added: the service gave its first answer again
 * @property {number} requests
 * @property {number} retries requests that were sent again
 * @property {number} tooManyRequests answers 429
 * @property {number} waitedSeconds for the limit
 * @property {number} seconds
 * @property {string | null} stoppedBy a signal or a reason; null when all rows were sent
 */

/** Counts outcomes, in memory that grows with the number of different refusals only. */
export class Tally {
  added = 0;
  refused = 0;
  /** @type {Map<string, RefusalGroup>} */
  #groups = new Map();

  /** @param {FinishedRow} entry */
  add(entry) {
    if (entry.outcome === 'added') {
      this.added += 1;
      return;
    }
    this.refused += 1;
    const { row, status, code, message } = entry;
    const groupKey = JSON.stringify([status, code, message]);
    const group = this.#groups.get(groupKey) ?? { status, code, message, count: 0, firstRows: [] };
    group.count += 1;
    // Answers overtake each other, so the lowest rows need not come first.
    group.firstRows = [...group.firstRows, row].sort((a, b) => a - b).slice(0, FIRST_ROWS);
    this.#groups.set(groupKey, group);
  }

  /** @returns {RefusalGroup[]} the most frequent first */
  refusals() {
    return [...this.#groups.values()].sort((a, b) => b.count - a.count);
  }
}

/**
 * @param {Summary} summary
 * @returns {string} lines for a reader
 */
export function formatSummary({ file, url, state, rows, added, refused, left, refusals, run }) {
  const speed =
    run.seconds > 0 ? ` (${grouped(Math.round((run.sent / run.seconds) * 60))}/min)` : '';
  const lines = [
    `${file} → ${url}`,
    `  rows      ${grouped(rows)}`,
    `  added     ${grouped(added)}`,
    `  refused   ${grouped(refused)}`,
    ...refusals.map(formatRefusals),
    `  left      ${grouped(left)}`,
    `this run`,
    `  sent      ${grouped(run.sent)} rows in ${duration(run.seconds * 1000)}${speed}, ${duration(run.waitedSeconds * 1000)} of it waiting for the limit`,
    `  requests  ${grouped(run.requests)}, retries ${grouped(run.retries)}, answers 429 ${grouped(run.tooManyRequests)}, replayed ${grouped(run.replayed)}`,
  ];
  if (run.stoppedBy !== null && left > 0) {
    lines.push(`stopped by ${run.stoppedBy}; the same command goes on from ${state}`);
  }
  return lines.join('\n');
}

/**
 * @param {RefusalGroup} group
 * @returns {string}
 */
function formatRefusals({ status, code, message, count, firstRows }) {
  const more = count > firstRows.length ? ', …' : '';
  return `    ${grouped(count)} × ${status} ${code}: ${message} (rows ${firstRows.join(', ')}${more})`;
}
