#!/usr/bin/env node
// @ts-check
// Adds the animals of a shelter's CSV file to the store. README.md describes its use.

import { reportFailure } from './exit-code.mjs';
import { IMPORT_HELP, parseImportOptions } from './options.mjs';
import { Progress, grouped } from './progress.mjs';
import { ResumeFile } from './resume-file.mjs';
import { idempotencyKey, readPets, surveyFile } from './shelter-file.mjs';
import { KeyRejectedError, StoreClient } from './store-client.mjs';
import { Tally, formatSummary } from './summary.mjs';

/** Signals that stop the import → exit code: 128 plus the signal's number. */
const SIGNALS = /** @type {const} */ ({ SIGINT: 130, SIGTERM: 143 });

/** @returns {Promise<number>} exit code */
async function main() {
  const options = parseImportOptions(process.argv.slice(2), process.env);
  if (options === 'help') {
    console.log(IMPORT_HELP);
    return 0;
  }
  const survey = await surveyFile(options.file, options.mapping, options.format, options.limitRows);
  warnOfUnmapped('category', survey.unmappedCategories, 'sent unchanged; the service decides');
  warnOfUnmapped('status', survey.unmappedStatuses, `sent as ${options.mapping.statusDefault}`);

  const { bytes, sha256 } = survey;
  const url = options.url.href;
  const journal = ResumeFile.open(options.state, { bytes, sha256, url, mapping: options.mapping });
  try {
    return await importRows(options, survey, journal);
  } finally {
    journal.close();
  }
}

/**
 * @param {import('./options.mjs').ImportOptions} options
 * @param {import('./shelter-file.mjs').Survey} survey
 * @param {ResumeFile} journal
 * @returns {Promise<number>} exit code
 */
async function importRows(options, survey, journal) {
  const startedAtMs = Date.now();
  const total = new Tally();
  const run = new Tally();
  let replayed = 0;
  /** @type {Set<number>} */
  const finished = new Set();
  for (const entry of journal.finished) {
    if (entry.row > survey.rows || finished.has(entry.row)) continue;
    finished.add(entry.row);
    total.add(entry);
  }

  const stop = new AbortController();
  const signal = stopOnSignal(stop);
  const client = new StoreClient({ ...options, signal: stop.signal });
  const pets = readPets(options.file, options.mapping, options.format, options.limitRows);
  const progress = options.quiet
    ? undefined
    : new Progress(process.stderr, () => ({
        done: total.added + total.rejected,
        total: survey.rows,
        sent: run.added + run.rejected,
        waitingUntilMs: client.gate.waitingUntilMs,
      }));

  /** @type {Error | undefined} */
  let failure;
  const work = async () => {
    try {
      while (!stop.signal.aborted) {
        const next = await pets.next();
        if (next.done) return;
        const { row, pet } = next.value;
        if (finished.has(row)) continue;
        const response = await client.addPet(pet, idempotencyKey(survey.sha256, row));
        /** @type {import('./resume-file.mjs').FinishedRow} */
        const entry =
          response.outcome === 'added'
            ? { row, outcome: 'added', id: response.id }
            : { row, ...response };
        journal.add(entry);
        total.add(entry);
        run.add(entry);
        if (response.outcome === 'added' && response.replayed) replayed += 1;
      }
    } catch (error) {
      // Another worker failed and aborted this wait.
      if (isAbort(error)) return;
      failure ??= error instanceof Error ? error : new Error('unknown failure', { cause: error });
      stop.abort(); // the other workers finish their requests in progress
    }
  };
  await Promise.all(Array.from({ length: options.concurrency }, work));
  await pets.return();
  progress?.end();

  const sent = run.added + run.rejected;
  const stoppedBy = signal.name ?? failure?.message ?? null;
  // With an invalid key there is nothing to summarize.
  if (!(failure instanceof KeyRejectedError && sent === 0)) {
    /** @type {import('./summary.mjs').Summary} */
    const summary = {
      file: options.file,
      url: options.url.href,
      state: options.state,
      rows: survey.rows,
      added: total.added,
      rejected: total.rejected,
      left: survey.rows - total.added - total.rejected,
      rejections: total.rejections(),
      unmappedCategories: Object.fromEntries(survey.unmappedCategories),
      unmappedStatuses: Object.fromEntries(survey.unmappedStatuses),
      run: {
        sent,
        added: run.added,
        rejected: run.rejected,
        replayed,
        ...client.counts,
        waitedSeconds: client.gate.waitedMs / 1000,
        seconds: (Date.now() - startedAtMs) / 1000,
        stoppedBy,
      },
    };
    console.log(options.json ? JSON.stringify(summary, null, 2) : formatSummary(summary));
  }
  if (failure !== undefined) throw failure;
  return signal.name === undefined ? 0 : SIGNALS[signal.name];
}

/**
 * After the first signal, requests in progress finish. The second one ends the process at once,
 * which loses no finished row (see resume-file.mjs).
 * @param {AbortController} stop
 * @returns {{ name?: keyof typeof SIGNALS }} the signal that came
 */
function stopOnSignal(stop) {
  /** @type {{ name?: keyof typeof SIGNALS }} */
  const signal = {};
  for (const name of /** @type {(keyof typeof SIGNALS)[]} */ (Object.keys(SIGNALS))) {
    process.on(name, () => {
      if (signal.name !== undefined) process.exit(SIGNALS[name]);
      signal.name = name;
      stop.abort();
    });
  }
  return signal;
}

/**
 * @param {string} what
 * @param {Map<string, number>} counts value → rows
 * @param {string} consequence
 */
function warnOfUnmapped(what, counts, consequence) {
  for (const [value, rows] of [...counts].slice(0, 20)) {
    console.error(
      `no mapping for the ${what} ${JSON.stringify(value)} (rows: ${grouped(rows)}): ${consequence}`,
    );
  }
  if (counts.size > 20) console.error(`… and for ${grouped(counts.size - 20)} more values`);
}

/**
 * @param {unknown} error
 * @returns {boolean}
 */
function isAbort(error) {
  return error instanceof Error && error.name === 'AbortError';
}

process.exitCode = await main().catch((/** @type {unknown} */ error) =>
  reportFailure('import', error),
);
