// @ts-check
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { promisify } from 'node:util';

const createAutocannon = createRequire(import.meta.url)('autocannon');

/**
 * What a client has counted: all responses had the expected status.
 *
 * @typedef {{ requests: number, requestsPerSecond: number, p50Ms: number, p99Ms: number }} Load
 *
 * @typedef {object} LoadOptions
 * @property {number} seconds wrk takes whole ones: rounded up
 * @property {number} connections
 * @property {string} folder for files of its own
 * @property {AbortSignal} signal ends it
 */

/** @type {Record<'wrk' | 'autocannon', (question: import('./response-check.mjs').Question, options: LoadOptions) => Promise<Load>>} */
export const CLIENTS = { wrk, autocannon };

/**
 * @param {import('./response-check.mjs').Question} question
 * @param {LoadOptions} options
 * @returns {Promise<Load>}
 */
async function autocannon(question, { seconds, connections, signal }) {
  const { method, url, headers, body, status } = question;
  const work = createAutocannon({
    ...{ url, method, headers, body, connections, duration: seconds },
    // It looks no more often whether the time is over.
    sampleInt: 50,
  });
  const end = () => work.stop();
  signal.addEventListener('abort', end);
  const { statusCodeStats, errors, latency, duration } = await work;
  signal.removeEventListener('abort', end);
  signal.throwIfAborted();
  const requests = statusCodeStats[status]?.count ?? 0;
  if (errors > 0 || Object.keys(statusCodeStats).length !== 1 || requests === 0) {
    throw new Error(`not all responses had status ${status}: ${JSON.stringify(statusCodeStats)}`);
  }
  return {
    requests,
    requestsPerSecond: requests / duration,
    p50Ms: latency.p50,
    p99Ms: latency.p99,
  };
}

/**
 * @param {import('./response-check.mjs').Question} question
 * @param {LoadOptions} options
 * @returns {Promise<Load>}
 */
async function wrk(question, { seconds, connections, folder, signal }) {
  const { method, url, headers, body, status } = question;
  const script = join(folder, 'question.lua');
  await writeFile(
    script,
    `wrk.method = ${JSON.stringify(method)}\n` +
      (body === undefined ? '' : `wrk.body = ${JSON.stringify(body)}\n`),
  );
  const { stdout } = await promisify(execFile)(
    'wrk',
    [
      ...[
        '--threads',
        '1',
        '--connections',
        String(connections),
        '--duration',
        `${Math.ceil(seconds)}s`,
      ],
      ...['--latency', '--script', script],
      ...Object.entries(headers).flatMap(([name, value]) => ['--header', `${name}: ${value}`]),
      url,
    ],
    { signal },
  );
  const requests = Number(/(\d+) requests in/.exec(stdout)?.[1]);
  const rejected = Number(/Non-2xx or 3xx responses: (\d+)/.exec(stdout)?.[1] ?? 0);
  // wrk counts only these. One response is compared before the round, and one after it.
  if (
    !(requests > 0) ||
    rejected !== (status < 400 ? 0 : requests) ||
    stdout.includes('Socket errors')
  ) {
    throw new Error(`not all responses had status ${status}:\n${stdout}`);
  }
  return {
    requests,
    requestsPerSecond: Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)?.[1]),
    p50Ms: milliseconds(/50%\s+([\d.]+)(us|ms|s)/.exec(stdout)),
    p99Ms: milliseconds(/99%\s+([\d.]+)(us|ms|s)/.exec(stdout)),
  };
}

/** @param {RegExpExecArray | null} match number and unit */
function milliseconds(match) {
  const [, number, unit] = match ?? [];
  return Number(number) * (unit === 'us' ? 0.001 : unit === 'ms' ? 1 : 1_000);
}
