#!/usr/bin/env node
// @ts-check
// Adds the animals of a shelter's CSV file to the store, one request after the other. The limits of a
// plan are lower than this speed, and at most one request is rejected when a limit is exceeded.

import { createHash } from 'node:crypto';
import { SingleBar } from 'cli-progress';
import { stringify } from 'lossless-json';
import { createClient } from '../client/client.mjs';
import { ImportError } from './import-error.mjs';
import { mapRow } from './mapping.mjs';
import { parseOptions } from './options.mjs';
import { hashFile, readRows } from './shelter-file.mjs';
import { StateFile } from './state-file.mjs';

/** @typedef {import('./options.mjs').Options} Options */

const REQUEST_TIMEOUT_MS = 30_000;
const SHOWN_ROWS = 20;
/** Signals that stop the import → exit code. */
const SIGNALS = { SIGINT: 130, SIGTERM: 143 };

/** @returns {Promise<number>} exit code */
async function main() {
  const options = parseOptions(process.argv.slice(2), process.env['API_KEY']);
  const total = await checkRows(options);
  if (options.dryRun) return 0;
  const fileHash = await hashFile(options.file);
  const state = await StateFile.open(options.state, importIdOf(options, fileHash));
  try {
    return await importRows(options, fileHash, state, total);
  } finally {
    state.close();
  }
}

/**
 * Reads the whole file before the first request, because an error in the last row must not leave a
 * part of the file in the store.
 *
 * @param {Options} options
 * @returns {Promise<number>} the number of rows to import
 * @throws {ImportError} when rows cannot be mapped
 */
async function checkRows(options) {
  let [mapped, unmapped] = [0, 0];
  for await (const { line, pet, problems } of mappedRows(options)) {
    if (problems.length === 0) {
      mapped += 1;
      if (options.dryRun && mapped <= SHOWN_ROWS) console.log(`line ${line}: ${stringify(pet)}`);
    } else {
      unmapped += 1;
      if (unmapped <= SHOWN_ROWS) report(`line ${line}: ${problems.join(', ')}`);
    }
  }
  if (unmapped > SHOWN_ROWS) report(`… and ${unmapped - SHOWN_ROWS} more rows`);
  const rows = `${unmapped} of ${mapped + unmapped} rows`;
  if (unmapped > 0 && !options.skipUnmapped) {
    throw new ImportError(`${rows} cannot be mapped. Nothing was sent. See --skip-unmapped.`);
  }
  if (mapped === 0) throw new ImportError('The file has no rows to import.');
  if (unmapped > 0) report(`${rows} are left out.`);
  if (options.dryRun) console.log(`${mapped} rows can be imported. Nothing was sent.`);
  return mapped;
}

/** @param {Options} options */
async function* mappedRows(options) {
  const columns = [options.name, options.category, options.status];
  for await (const { line, values } of readRows(options.file, options, columns)) {
    yield { line, ...mapRow(values, options) };
  }
}

/**
 * @param {Options} options
 * @param {string} fileHash
 * @param {StateFile} state
 * @param {number} total number of rows
 * @returns {Promise<number>} exit code
 * @throws {ImportError} when the service does not process a row
 */
async function importRows(options, fileHash, state, total) {
  const stop = new AbortController();
  const { signal } = stop;
  let exitCode = 0;
  for (const [name, code] of Object.entries(SIGNALS)) {
    // Only once, so that a second signal ends the process at once.
    process.once(name, () => {
      exitCode = code;
      stop.abort();
    });
  }
  const client = createClient(options.url, options.apiKey, { signal, fetch: fetchAndReport });
  const bar = new SingleBar({ format: '[{bar}] {value}/{total} rows, ETA {eta_formatted}' });
  const done = () => state.added + state.rejected;
  const last = done() + (options.limit ?? Infinity);
  bar.start(total, done());
  try {
    for await (const { line, pet, problems } of mappedRows(options)) {
      if (line <= state.lastLine || problems.length > 0) continue;
      if (signal.aborted || done() >= last) break;
      const entry = await addPet(client, pet, `${fileHash}-${line}`).catch(
        (/** @type {unknown} */ error) => {
          if (!signal.aborted) throw error;
        },
      );
      if (!entry) break;
      state.add({ line, ...entry });
      if ('rejected' in entry) report(`line ${line}: ${entry.rejected}`);
      bar.update(done());
    }
  } finally {
    bar.stop();
    const { added, rejected } = state;
    console.log(`${added} added, ${rejected} rejected, ${total - done()} remaining`);
    if (done() < total) console.log('Run the same command again to continue.');
  }
  return exitCode || (state.rejected > 0 ? 1 : 0);
}

/**
 * @param {import('../client/client.mjs').PetsClient} client
 * @param {import('./mapping.mjs').NewPet} pet
 * @param {string} idempotencyKey equal in every run, so that the service adds the animal once
 * @returns {Promise<{ id: string } | { rejected: string }>}
 * @throws {ImportError} for a failure that does not depend on the animal
 */
async function addPet(client, pet, idempotencyKey) {
  const header = { 'Idempotency-Key': idempotencyKey };
  const { data, error, response } = await client
    .POST('/pets', { params: { header }, body: pet })
    .catch((/** @type {unknown} */ failure) => {
      throw new ImportError(`The request failed. ${reasonOf(failure)}`);
    });
  if (typeof data?.id === 'bigint') return { id: String(data.id) };
  const reason = `${response.status} ${error?.code ?? ''}: ${error?.message ?? response.url}`;
  if (response.status === 400 && error?.code) return { rejected: reason };
  throw new ImportError(`The service responded with ${reason}`);
}

/**
 * Sends a request once. The client retries it after `Retry-After`.
 *
 * @param {Request} request
 * @returns {Promise<Response>}
 */
async function fetchAndReport(request) {
  try {
    const response = await fetch(request, { signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS) });
    const seconds = Number(response.headers.get('Retry-After'));
    if (seconds > 0) {
      const until = new Date(Date.now() + seconds * 1000).toLocaleString('sv');
      report(`The service responded with ${response.status}. Waiting until ${until}.`);
    }
    return response;
  } catch (error) {
    report(`The request failed. ${reasonOf(error)}`);
    throw error;
  }
}

/**
 * @param {any} error
 * @returns {string} fetch keeps the reason in `cause`
 */
function reasonOf(error) {
  return (error.cause ?? error).code || (error.cause ?? error).message;
}

/**
 * @param {Options} options
 * @param {string} fileHash
 * @returns {string} identifies everything that decides which animals are sent where
 */
function importIdOf(options, fileHash) {
  const { url, name, nameDefault, category, status, delimiter, encoding, skipUnmapped } = options;
  const maps = [options.categoryMap, options.statusMap].map((map) => [...(map ?? [])]);
  const columns = [name, nameDefault, category, status, maps];
  const all = [fileHash, url, columns, delimiter, encoding, skipUnmapped];
  return createHash('sha256').update(JSON.stringify(all)).digest('hex');
}

/** @param {string} line printed above the progress bar */
function report(line) {
  if (process.stderr.isTTY) process.stderr.write('\r\u001b[K');
  console.error(line);
}

process.exitCode = await main().catch((/** @type {unknown} */ error) => {
  const isSystem = error instanceof Error && 'syscall' in error; // no such file, disk full
  if (!isSystem && !(error instanceof ImportError)) throw error;
  report(`error: ${error.message}`);
  return 1;
});
