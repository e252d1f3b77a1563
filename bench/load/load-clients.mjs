// @ts-check
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { promisify } from 'node:util';

const createAutocannon = createRequire(import.meta.url)('autocannon');

/** @typedef {import('./response-check.mjs').LoadRequest} LoadRequest */

/**
 * @typedef {{ requests: number, requestsPerSecond: number, p50Ms: number, p99Ms: number }} LoadFigures
 *
 * @typedef {object} LoadOptions
 * @property {number} seconds wrk rounds up to whole seconds
 * @property {number} connections
 * @property {string} folder for temporary files
 * @property {AbortSignal} signal stops the load
 */

/**
 * Load clients by name. Each repeats a request on all connections, and throws if a response has
 * another status than the expected one.
 *
 * @type {Record<'wrk' | 'autocannon', (request: LoadRequest, options: LoadOptions) => Promise<LoadFigures>>}
 */
export const LOAD_CLIENTS = { wrk, autocannon };

/**
 * @param {LoadRequest} request
 * @param {LoadOptions} options
 * @returns {Promise<LoadFigures>}
 */
async function autocannon(request, { seconds, connections, signal }) {
  const { method, url, headers, body, status } = request;
  const run = createAutocannon({
    ...{ url, method, headers, body, connections, duration: seconds },
    // Autocannon checks only at this interval, in milliseconds, whether the duration has passed.
    sampleInt: 50,
  });
  const stop = () => run.stop();
  signal.addEventListener('abort', stop);
  const { statusCodeStats, errors, latency, duration } = await run;
  signal.removeEventListener('abort', stop);
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
 * @param {LoadRequest} request
 * @param {LoadOptions} options
 * @returns {Promise<LoadFigures>}
 */
async function wrk(request, { seconds, connections, folder, signal }) {
  const { method, url, headers, body, status } = request;
  const script = join(folder, 'request.lua');
  await writeFile(
    script,
    `wrk.method = ${JSON.stringify(method)}\n` +
      (body === undefined ? '' : `wrk.body = ${JSON.stringify(body)}\n`),
  );
  const args = [
    '--latency',
    ...['--threads', '1'],
    ...['--connections', String(connections)],
    ...['--duration', `${Math.ceil(seconds)}s`],
    ...['--script', script],
    ...Object.entries(headers).flatMap(([name, value]) => ['--header', `${name}: ${value}`]),
    url,
  ];
  const { stdout } = await promisify(execFile)('wrk', args, { signal });
  const requests = Number(/(\d+) requests in/.exec(stdout)?.[1]);
  const rejected = Number(/Non-2xx or 3xx responses: (\d+)/.exec(stdout)?.[1] ?? 0);
  // wrk reports no other statuses. A response before and one after each round are checked exactly.
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
