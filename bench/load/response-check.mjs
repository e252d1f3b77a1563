// @ts-check
import { request as httpRequest } from 'node:http';
import { isDeepStrictEqual } from 'node:util';

const RESPONSE_TIMEOUT_MS = 10_000;

/**
 * A request that a load client repeats.
 *
 * @typedef {object} LoadRequest
 * @property {string} method
 * @property {string} url
 * @property {Record<string, string>} headers
 * @property {string} [body]
 * @property {number} status expected
 *
 * @typedef {{ status: number, etag: string | undefined, text: string }} Response
 */

/**
 * Sends one request of a scenario to a peer and checks the response.
 *
 * @param {import('../processes/peer-process.mjs').PeerProcess} peer
 * @param {import('../comparison/scenarios.mjs').Scenario} scenario
 * @returns {Promise<LoadRequest>} the request, to be repeated under load
 * @throws if the response is not the expected one
 */
export async function sendAndCheck(peer, scenario) {
  const { method = 'GET', path, key, body, conditional, status } = scenario;
  /** @type {LoadRequest} */
  const request = {
    method,
    url: `http://127.0.0.1:${peer.port}${path}`,
    headers: {
      ...(key !== undefined && { Authorization: `Bearer ${key}` }),
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
    },
    ...(body !== undefined && { body }),
    status,
  };
  // The first request of a window is accepted and consumes the limit of 1.
  if (status === 429) await send(request);
  if (conditional) request.headers['If-None-Match'] = (await send(request)).etag ?? '';
  check(await send(request), scenario, peer.peer.name);
  return request;
}

/**
 * @param {Response} response
 * @param {import('../comparison/scenarios.mjs').Scenario} scenario
 * @param {string} peer its name
 * @throws if the response is not the expected one
 */
function check({ status, text }, scenario, peer) {
  const actual = `${peer}, ${scenario.name}: the response is ${status} ${text.slice(0, 300)}`;
  if (status !== scenario.status) throw new Error(`${actual}, expected ${scenario.status}`);
  if (status === 304) return;
  const value = JSON.parse(text);
  if (scenario.expected === undefined) return;
  const compared = scenario.method === 'POST' ? withoutId(value) : value;
  if (!isDeepStrictEqual(compared, scenario.expected)) {
    throw new Error(`${actual}, expected ${JSON.stringify(scenario.expected).slice(0, 300)}`);
  }
}

/** @param {{ id?: unknown }} animal */
function withoutId({ id, ...animal }) {
  return Number.isInteger(id) ? animal : undefined;
}

/**
 * @param {LoadRequest} request
 * @returns {Promise<Response>}
 */
function send({ method, url, headers, body }) {
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(RESPONSE_TIMEOUT_MS);
    const sent = httpRequest(url, { method, headers, agent: false, signal }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk) => (text += chunk));
      response.on('error', reject);
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, etag: response.headers.etag, text }),
      );
    });
    sent.on('error', reject);
    sent.end(body);
  });
}
