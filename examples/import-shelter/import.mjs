#!/usr/bin/env node
// @ts-check
// Adds the animals of a shelter's CSV file to the store. README.md describes its use.

import { createHash } from 'node:crypto';
import { reportFailure } from './import-error.mjs';
import { Journal } from './journal.mjs';
import { IMPORT_HELP, parseImportOptions } from './options.mjs';
import { grouped, showProgress } from './progress.mjs';
import { readShelterFile } from './shelter-file.mjs';
import { KeyRejectedError, Store } from './store.mjs';
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
  const { mapping, format, limitRows } = options;
  const file = readShelterFile(options.file, mapping, format, limitRows);
  warnOfUnmapped('category', file.unmappedCategories, 'sent unchanged; the service decides');
  warnOfUnmapped('status', file.unmappedStatuses, `sent as ${mapping.statusDefault}`);
  const journal = new Journal(options.state, { ...file, url: options.url.href, mapping });
  try {
    return await importRows(options, file, journal);
  } finally {
    journal.close();
  }
}

/**
 * @param {import('./options.mjs').ImportOptions} options
 * @param {import('./shelter-file.mjs').ShelterFile} file
 * @param {Journal} journal
 * @returns {Promise<number>} exit code
 */
async function importRows(options, file, journal) {
  const startedAtMs = Date.now();
  const rows = file.pets.length;
  const [total, run] = [new Tally(), new Tally()];
  let replayed = 0;
  const finished = new Map(journal.finished.map((entry) => [entry.row, entry]));
  for (const entry of finished.values()) if (entry.row <= rows) total.add(entry);

  const stop = new AbortController();
  const signal = stopOnSignal(stop);
  const store = new Store({ ...options, signal: stop.signal });
  const endProgress = options.quiet
    ? undefined
    : showProgress(rows, () => ({
        value: total.count,
        text: `${grouped(total.count)}/${grouped(rows)} rows`,
        remainingMs: store.gate.remainingMs(rows - total.count),
        waitingUntilMs: store.gate.waitingUntilMs,
      }));

  /** @type {Error | undefined} */
  let failure;
  const rowsAndPets = file.pets.entries(); // shared by all workers
  const work = async () => {
    for (const [index, pet] of rowsAndPets) {
      const row = index + 1;
      if (finished.has(row)) continue;
      if (stop.signal.aborted) return;
      const response = await store.addPet(pet, idempotencyKey(file.sha256, row));
      const entry = { row, ...response.outcome };
      journal.add(entry);
      total.add(entry);
      run.add(entry);
      if (response.replayed) replayed += 1;
    }
  };
  const stopAll = (/** @type {unknown} */ error) => {
    // The other workers finish their requests in progress.
    if (!stop.signal.aborted) {
      failure = error instanceof Error ? error : new Error('unknown failure', { cause: error });
    }
    stop.abort();
  };
  await Promise.all(Array.from({ length: options.concurrency }, () => work().catch(stopAll)));
  endProgress?.();

  // With an invalid key there is nothing to summarize.
  if (failure instanceof KeyRejectedError && run.count === 0) throw failure;
  /** @type {import('./summary.mjs').Summary} */
  const summary = {
    file: options.file,
    url: options.url.href,
    state: options.state,
    rows,
    added: total.added,
    rejected: total.rejected,
    left: rows - total.count,
    rejections: total.rejections(),
    unmappedCategories: Object.fromEntries(file.unmappedCategories),
    unmappedStatuses: Object.fromEntries(file.unmappedStatuses),
    run: {
      sent: run.count,
      added: run.added,
      rejected: run.rejected,
      replayed,
      requests: store.gate.requests,
      retries: store.gate.retries,
      tooManyRequests: store.gate.tooManyRequests,
      waitedSeconds: store.gate.waitedMs / 1000,
      seconds: (Date.now() - startedAtMs) / 1000,
      stoppedBy: signal.name ?? failure?.message ?? null,
    },
  };
  console.log(
    options.json ? JSON.stringify(summary, null, 2) : formatSummary(summary, signal.name),
  );
  if (failure !== undefined) throw failure;
  return signal.name === undefined ? 0 : SIGNALS[signal.name];
}

/**
 * Returns the same key for the same row of the same file in every run, so that the service adds the
 * row once.
 * @param {string} sha256 of the file
 * @param {number} row
 * @returns {string} 64 hexadecimal digits
 */
function idempotencyKey(sha256, row) {
  return createHash('sha256').update(`${sha256}:${row}`).digest('hex');
}

/**
 * After the first signal, requests in progress finish. The second one ends the process at once,
 * which loses no finished row (see journal.mjs).
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

process.exitCode = await main().catch((/** @type {unknown} */ error) =>
  reportFailure('import', error),
);
