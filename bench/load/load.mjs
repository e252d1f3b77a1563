// @ts-check
// Load generators in processes of their own: wrk, which needs the least CPU time, and autocannon,
// which reports each status.
import { execFile, spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { promisify } from 'node:util';

/**
 * A request that each connection sends again as soon as it has received the response.
 *
 * @typedef {object} Request
 * @property {string} url
 * @property {Record<string, string>} headers
 * @property {string} [body] sent with POST
 * @property {number} status expected
 *
 * @typedef {object} Limits
 * @property {number} connections
 * @property {number} seconds
 *
 * @typedef {object} LoadResult
 * @property {number} requests with the expected status
 * @property {number} perSecond of the same requests
 * @property {Record<string, number>} others number of other responses by status, and of failed requests
 * @property {number} p50Ms
 * @property {number} p99Ms
 */

const AUTOCANNON = createRequire(import.meta.url).resolve('autocannon');
const HAS_WRK = spawnSync('wrk', ['--version'], { stdio: 'ignore' }).error === undefined;
const UNIT_MS = /** @type {Record<string, number>} */ ({ us: 0.001, ms: 1, s: 1_000 });

/** Sends load to one server at a time. */
export class LoadGenerator {
  /**
   * @param {string} folder for a temporary file
   * @param {AbortSignal} signal stops the load
   */
  constructor(folder, signal) {
    this.script = join(folder, 'request.lua');
    this.signal = signal;
  }

  /**
   * Uses wrk if it is installed, otherwise autocannon.
   *
   * @param {Request} request
   * @param {Limits} limits
   * @returns {Promise<LoadResult>}
   */
  run(request, limits) {
    return HAS_WRK ? this.#wrk(request, limits) : this.autocannon(request, limits);
  }

  /** @param {Request} request @param {Limits} limits @returns {Promise<LoadResult>} */
  async #wrk({ url, headers, body, status }, { connections, seconds }) {
    const post = `wrk.method = "POST" wrk.body = ${JSON.stringify(body)}`;
    await writeFile(this.script, body === undefined ? '' : post);
    const options = ['--latency', '-t1', `-c${connections}`, `-d${seconds}s`, '-s', this.script];
    const output = await this.#execute('wrk', [...options, ...headerOptions(headers), url]);
    const value = (/** @type {RegExp} */ pattern) => Number(pattern.exec(output)?.[1] ?? 0);
    const total = value(/(\d+) requests in/);
    // wrk does not report other statuses.
    const rejected = value(/Non-2xx or 3xx responses: (\d+)/);
    const [requests, others] =
      status < 400 ? [total - rejected, rejected] : [rejected, total - rejected];
    const failed = /Socket errors: .*/.exec(output)?.[0].match(/\d+/g)?.map(Number) ?? [];
    const latencyMs = (/** @type {number} */ percent) => {
      const [, number, unit = ''] = new RegExp(`${percent}%\\s+([\\d.]+)(\\w+)`).exec(output) ?? [];
      return Number(number) * (UNIT_MS[unit] ?? NaN);
    };
    return {
      requests,
      perSecond: (value(/Requests\/sec:\s+([\d.]+)/) * requests) / total,
      others: { unexpected: others, failed: failed.reduce((sum, count) => sum + count, 0) },
      p50Ms: latencyMs(50),
      p99Ms: latencyMs(99),
    };
  }

  /**
   * Uses autocannon. If a response below 300 is expected, the latencies are those of such responses.
   *
   * @param {Request} request
   * @param {Limits} limits
   * @returns {Promise<LoadResult>}
   */
  async autocannon({ url, headers, body, status }, { connections, seconds }) {
    const options = ['--json', `-c${connections}`, `-d${seconds}`];
    if (status < 300) options.push('--excludeErrorStats');
    if (body !== undefined) options.push('-m', 'POST', '-b', body);
    const args = [AUTOCANNON, ...options, ...headerOptions(headers), url];
    const output = JSON.parse(await this.#execute(process.execPath, args));
    /** @type {Record<string, number>} */
    const counts = { failed: output.errors };
    for (const [name, { count }] of Object.entries(output.statusCodeStats)) counts[name] = count;
    const { [status]: requests = 0, ...others } = counts;
    const { p50: p50Ms, p99: p99Ms } = output.latency;
    return { requests, perSecond: requests / output.duration, others, p50Ms, p99Ms };
  }

  /** @param {string} program @param {string[]} args @returns {Promise<string>} its standard output */
  async #execute(program, args) {
    return (await promisify(execFile)(program, args, { signal: this.signal })).stdout;
  }
}

/** @param {Record<string, string>} headers */
function headerOptions(headers) {
  return Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`]);
}
