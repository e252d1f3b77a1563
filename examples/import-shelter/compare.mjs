#!/usr/bin/env node
// @ts-check
// Lists the whole store and compares it with a file that import.mjs imported. Every row that was
// added must be in the store exactly once, with its id and the values that were sent.

import { ImportError, reportFailure } from './import-error.mjs';
import { readJournal } from './journal.mjs';
import { COMPARE_HELP, parseCompareOptions } from './options.mjs';
import { grouped, showProgress } from './progress.mjs';
import { readShelterFile } from './shelter-file.mjs';
import { Store } from './store.mjs';

const SHOWN_DIFFERENCES = 20;

/**
 * @typedef {object} Expected an animal as it was sent
 * @property {number} row
 * @property {string} content
 * @property {number} seen how often the store listed it
 *
 * @typedef {object} Report
 * @property {number} rows of the file (at most `--limit-rows`)
 * @property {number} added rows that the journal records as added
 * @property {number} rejected
 * @property {number} unfinished rows without a response
 * @property {number} listed animals in the store
 * @property {number} pages
 * @property {number} found added rows that the store has as they were sent
 * @property {number} lost added rows that the store does not have
 * @property {number} changed
 * @property {number} twice ids that were listed twice, or stand for two rows
 * @property {number} others animals that are not of this import
 * @property {number} likeAdded those of `others` with the name, category and status of an added row
 *   and a later id than the first one: animals of others, or rows that were added twice
 * @property {string[]} differences the first ones, a line each
 */

/** @returns {Promise<number>} exit code */
async function main() {
  const options = parseCompareOptions(process.argv.slice(2), process.env);
  if (options === 'help') {
    console.log(COMPARE_HELP);
    return 0;
  }
  const { report, isEqual } = await compare(options);
  console.log(
    options.json ? JSON.stringify({ ...report, isEqual }, null, 2) : format(report, isEqual),
  );
  return isEqual ? 0 : 1;
}

/**
 * @param {import('./options.mjs').CompareOptions} options
 * @returns {Promise<{ report: Report, isEqual: boolean }>}
 */
async function compare(options) {
  const { mapping, state } = options;
  const file = readShelterFile(options.file, mapping, options.format, options.limitRows);
  const journal = readJournal(state, { ...file, url: options.url.href, mapping });
  if (journal === null)
    throw new ImportError(`the state file ${state} does not exist; set --state`);

  /** @type {Report} */
  const report = {
    rows: file.pets.length,
    added: 0,
    rejected: 0,
    unfinished: 0,
    listed: 0,
    pages: 0,
    found: 0,
    lost: 0,
    changed: 0,
    twice: 0,
    others: 0,
    likeAdded: 0,
    differences: [],
  };
  /** @param {string} line */
  const note = (line) => {
    if (report.differences.length < SHOWN_DIFFERENCES) report.differences.push(line);
  };
  const expected = expectedAnimals(file.pets, journal.rows, report, note);
  await listStore(options, expected, report, note);

  for (const [id, { row, seen }] of expected) {
    if (seen > 0) continue;
    report.lost += 1;
    note(`lost: row ${row}, id ${id}`);
  }
  if (options.others !== undefined && report.others !== options.others) {
    note(`animals not of this import: ${report.others}, expected ${options.others}`);
  }
  if (report.unfinished > 0)
    note(`rows without a response: ${report.unfinished}; run the import again`);
  return { report, isEqual: report.differences.length === 0 };
}

/**
 * @param {import('./mapping.mjs').NewPet[]} pets
 * @param {import('./journal.mjs').FinishedRow[]} finished
 * @param {Report} report
 * @param {(line: string) => void} note
 * @returns {Map<bigint, Expected>} by id
 */
function expectedAnimals(pets, finished, report, note) {
  const outcomes = new Map(finished.map((entry) => [entry.row, entry]));
  if (outcomes.size < finished.length) {
    const count = finished.length - outcomes.size;
    report.twice += count;
    note(`twice: rows that occur twice in the state file: ${count}`);
  }
  /** @type {Map<bigint, Expected>} */
  const expected = new Map();
  for (const [index, pet] of pets.entries()) {
    const row = index + 1;
    const entry = outcomes.get(row);
    if (entry === undefined) {
      report.unfinished += 1;
    } else if (entry.outcome !== 'added') {
      report.rejected += 1;
    } else {
      report.added += 1;
      const id = BigInt(entry.id);
      const other = expected.get(id);
      if (other !== undefined) {
        report.twice += 1;
        note(`twice: id ${id} stands for the rows ${other.row} and ${row}`);
      }
      expected.set(id, { row, content: contentOf(pet), seen: 0 });
    }
  }
  return expected;
}

/**
 * @param {import('./options.mjs').CompareOptions} options
 * @param {Map<bigint, Expected>} expected
 * @param {Report} report
 * @param {(line: string) => void} note
 */
async function listStore(options, expected, report, note) {
  const store = new Store({ ...options, signal: new AbortController().signal });
  const ids = [...expected.keys()].sort((a, b) => (a < b ? -1 : 1));
  const [firstId = 0n, lastId = 0n] = [ids[0], ids.at(-1)];
  /** The list is in the order of ids, so that the position of an id is the progress. */
  const position = { first: firstId, current: firstId };
  const endProgress = options.quiet
    ? undefined
    : showProgress(100, () => {
        const isAtEnd = report.pages > 0 && position.current >= lastId;
        const passed = Number(position.current - position.first);
        const percent = isAtEnd ? 100 : (passed / Number(lastId - position.first)) * 100;
        const pagesLeft = percent === 0 ? 1 : (report.pages / percent) * (100 - percent);
        return {
          value: percent,
          text: `${grouped(report.listed)} animals`,
          remainingMs: store.gate.remainingMs(Math.ceil(pagesLeft)),
          waitingUntilMs: store.gate.waitingUntilMs,
        };
      });
  const contents = new Set([...expected.values()].map(({ content }) => content));
  /** @type {Set<bigint>} */
  const otherIds = new Set();
  try {
    for await (const page of store.listPages()) {
      if (report.pages === 0) position.first = page[0]?.id ?? firstId;
      report.pages += 1;
      position.current = page.at(-1)?.id ?? lastId;
      for (const pet of page) {
        report.listed += 1;
        const animal = expected.get(pet.id);
        if (animal === undefined) {
          const isAgain = otherIds.has(pet.id);
          otherIds.add(pet.id);
          if (isAgain) {
            report.twice += 1;
            note(`twice: id ${pet.id} was listed again`);
          } else if (pet.id > firstId && contents.has(contentOf(pet))) {
            report.likeAdded += 1;
          }
          continue;
        }
        animal.seen += 1;
        if (animal.seen > 1) {
          report.twice += 1;
          note(`twice: row ${animal.row}, id ${pet.id} was listed again`);
        } else if (contentOf(pet) !== animal.content) {
          report.changed += 1;
          note(
            `changed: row ${animal.row}, id ${pet.id}: sent ${animal.content}, stored ${contentOf(pet)}`,
          );
        } else {
          report.found += 1;
        }
      }
    }
  } finally {
    endProgress?.();
    report.others = otherIds.size;
  }
}

/**
 * @param {{ name: string, categoryId: bigint | string, status: string }} pet
 * @returns {string} equal for equal animals
 */
function contentOf({ name, categoryId, status }) {
  return JSON.stringify([name, String(categoryId), status]);
}

/**
 * @param {Report} report
 * @param {boolean} isEqual
 * @returns {string} lines for a reader
 */
function format(report, isEqual) {
  const { rows, added, rejected, unfinished, listed, pages, found, lost, changed, twice } = report;
  return [
    `file     ${grouped(rows)} rows: ${grouped(added)} added, ${grouped(rejected)} rejected, ${grouped(unfinished)} without a response`,
    `store    ${grouped(listed)} animals on ${grouped(pages)} pages; ${grouped(report.others)} not of this import, ${grouped(report.likeAdded)} of them like an added row`,
    `compared ${grouped(found)} as sent, ${grouped(lost)} lost, ${grouped(changed)} changed, ${grouped(twice)} twice`,
    ...report.differences.map((line) => `  ${line}`),
    isEqual ? 'no difference' : 'there are differences',
  ].join('\n');
}

process.exitCode = await main().catch((/** @type {unknown} */ error) =>
  reportFailure('compare', error),
);
