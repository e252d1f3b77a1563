// @ts-check
// The load generator wrk, in a process of its own.
import { execFile } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

/**
 * A request that each connection sends again as soon as it has received the response.
 *
 * @typedef {object} Request
 * @property {string} url
 * @property {Record<string, string>} headers
 * @property {string} [body] sent with POST, with another number for NUMBER in each request
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

const UNIT_MS = /** @type {Record<string, number>} */ ({ us: 0.001, ms: 1, s: 1_000 });

/** Returns a number of 15 digits. Greater ones follow it for at least as many requests as a benchmark sends. */
const newNumber = () => randomInt(1e14, 2e14);

/** Returns a body with a number for NUMBER. @param {string} body */
export const numbered = (body) => body.replaceAll('NUMBER', String(newNumber()));

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

  /** @param {Request} request @param {Limits} limits @returns {Promise<LoadResult>} */
  async run({ url, headers, body, status }, { connections, seconds }) {
    const post = `
      local number = ${newNumber()}
      local body = ${JSON.stringify(body)}
      wrk.method = "POST"
      request = function()
        number = number + 1
        return wrk.format(nil, nil, nil, (body:gsub("NUMBER", string.format("%.0f", number))))
      end`;
    await writeFile(this.script, body === undefined ? '' : post);
    const options = ['--latency', '-t1', `-c${connections}`, `-d${seconds}s`, '-s', this.script];
    const output = await this.#execute([...options, ...headerOptions(headers), url]);
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

  /** @param {string[]} args @returns {Promise<string>} the standard output @throws if wrk is not installed */
  async #execute(args) {
    return (await promisify(execFile)('wrk', args, { signal: this.signal })).stdout;
  }
}

/** @param {Record<string, string>} headers */
function headerOptions(headers) {
  return Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`]);
}
