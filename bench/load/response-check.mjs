// @ts-check
import { request } from 'node:http';
import { isDeepStrictEqual } from 'node:util';

const RESPONSE_TIMEOUT_MS = 10_000;

/**
 * What is sent to a peer.
 *
 * @typedef {object} Question
 * @property {string} method
 * @property {string} url
 * @property {Record<string, string>} headers
 * @property {string} [body]
 * @property {number} status expected
 *
 * @typedef {{ status: number, etag: string | undefined, text: string }} Response
 */

/**
 * Sends a peer one request and compares the response with the expected one.
 *
 * @param {import('../processes/peer-process.mjs').PeerProcess} peer
 * @param {import('../comparison/scenarios.mjs').Scenario} scenario
 * @returns {Promise<Question>} the request, so that it can be repeated
 * @throws if the response differs
 */
export async function sendAndCompare(peer, scenario) {
  const { method = 'GET', path, key, body, conditional, status } = scenario;
  /** @type {Question} */
  const question = {
    method,
    url: `http://127.0.0.1:${peer.port}${path}`,
    headers: {
      ...(key !== undefined && { Authorization: `Bearer ${key}` }),
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
    },
    ...(body !== undefined && { body }),
    status,
  };
  // A window that is to be used up: the first request is let through.
  if (status === 429) await ask(question);
  if (conditional) question.headers['If-None-Match'] = (await ask(question)).etag ?? '';
  compare(await ask(question), scenario, peer.peer.name);
  return question;
}

/**
 * @param {Response} response
 * @param {import('../comparison/scenarios.mjs').Scenario} scenario
 * @param {string} peer its name
 */
function compare({ status, text }, scenario, peer) {
  const is = `${peer}, ${scenario.name}: the response is ${status} ${text.slice(0, 300)}`;
  if (status !== scenario.status) throw new Error(`${is}, not ${scenario.status}`);
  if (status === 304) return;
  const value = JSON.parse(text);
  if (scenario.expected === undefined) return;
  const compared = scenario.method === 'POST' ? withoutId(value) : value;
  if (!isDeepStrictEqual(compared, scenario.expected)) {
    throw new Error(`${is}, not ${JSON.stringify(scenario.expected).slice(0, 300)}`);
  }
}

/** @param {{ id?: unknown }} animal */
function withoutId({ id, ...animal }) {
  return Number.isInteger(id) ? animal : undefined;
}

/**
 * @param {Question} question
 * @returns {Promise<Response>}
 */
function ask({ method, url, headers, body }) {
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(RESPONSE_TIMEOUT_MS);
    const asked = request(url, { method, headers, agent: false, signal }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk) => (text += chunk));
      response.on('error', reject);
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, etag: response.headers.etag, text }),
      );
    });
    asked.on('error', reject);
    asked.end(body);
  });
}
