// @ts-check
// Counts the outcomes of the rows during the import and prints them at its end.

import { duration, grouped } from './progress.mjs';

const FIRST_ROWS = 5;

/**
 * @typedef {import('./journal.mjs').FinishedRow} FinishedRow
 *
 * @typedef {object} RejectionGroup rejections with the same status, code and message
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
 * @property {number} rejected over all runs
 * @property {number} left rows without a response so far
 * @property {RejectionGroup[]} rejections over all runs, the most frequent first
 * @property {Record<string, number>} unmappedCategories value → rows, sent unchanged
 * @property {Record<string, number>} unmappedStatuses value → rows, sent with the default
 * @property {RunFigures} run of this run
 *
 * @typedef {object} RunFigures
 * @property {number} sent rows finished
 * @property {number} added
 * @property {number} rejected
 * @property {number} replayed rows that an interrupted run had added; the service returned its
 *   first response
 * @property {number} requests
 * @property {number} retries requests that were sent again
 * @property {number} tooManyRequests 429 responses
 * @property {number} waitedSeconds for the limit
 * @property {number} seconds
 * @property {string | null} stoppedBy a signal or a reason; null if all rows were sent
 */

/** Counts outcomes. Its memory grows only with the number of different rejections. */
export class Tally {
  added = 0;
  rejected = 0;
  /** @type {Map<string, RejectionGroup>} */
  #groups = new Map();

  /** @param {FinishedRow} entry */
  add(entry) {
    if (entry.outcome === 'added') {
      this.added += 1;
      return;
    }
    this.rejected += 1;
    const { row, status, code, message } = entry;
    const groupKey = JSON.stringify([status, code, message]);
    const group = this.#groups.get(groupKey) ?? { status, code, message, count: 0, firstRows: [] };
    group.count += 1;
    // Responses may arrive out of order, so sort the rows.
    group.firstRows = [...group.firstRows, row].sort((a, b) => a - b).slice(0, FIRST_ROWS);
    this.#groups.set(groupKey, group);
  }

  get count() {
    return this.added + this.rejected;
  }

  /** @returns {RejectionGroup[]} the most frequent first */
  rejections() {
    return [...this.#groups.values()].sort((a, b) => b.count - a.count);
  }
}

/**
 * @param {Summary} summary
 * @param {string} [signal] that stopped the import; a failure is reported on standard error
 * @returns {string} several lines of text
 */
export function formatSummary(summary, signal) {
  const { file, url, state, rows, added, rejected, left, rejections, run } = summary;
  const speed =
    run.seconds > 0 ? ` (${grouped(Math.round((run.sent / run.seconds) * 60))}/min)` : '';
  const lines = [
    `${file} → ${url}`,
    `  rows      ${grouped(rows)}`,
    `  added     ${grouped(added)}`,
    `  rejected  ${grouped(rejected)}`,
    ...rejections.map(formatRejections),
    `  left      ${grouped(left)}`,
    `this run`,
    `  sent      ${grouped(run.sent)} rows in ${duration(run.seconds * 1000)}${speed}, ${duration(run.waitedSeconds * 1000)} of it waiting for the limit`,
    `  requests  ${grouped(run.requests)}, retries ${grouped(run.retries)}, 429 responses ${grouped(run.tooManyRequests)}, replayed ${grouped(run.replayed)}`,
  ];
  if (run.stoppedBy !== null && left > 0) {
    const reason = signal === undefined ? 'stopped early' : `stopped by ${signal}`;
    lines.push(`${reason}; run the same command to continue from ${state}`);
  }
  return lines.join('\n');
}

/**
 * @param {RejectionGroup} group
 * @returns {string}
 */
function formatRejections({ status, code, message, count, firstRows }) {
  const more = count > firstRows.length ? ', …' : '';
  return `    ${grouped(count)} × ${status} ${code}: ${message} (rows ${firstRows.join(', ')}${more})`;
}
