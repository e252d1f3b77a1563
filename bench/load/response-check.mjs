// @ts-check
import { isDeepStrictEqual } from 'node:util';
import { numbered } from './load.mjs';

const RESPONSE_TIMEOUT_MS = 10_000;

/**
 * Sends one request of a scenario to a peer and checks the response.
 *
 * @param {import('../processes/peer-process.mjs').PeerProcess} peer
 * @param {import('../comparison/scenarios.mjs').Scenario} scenario
 * @returns {Promise<import('./load.mjs').Request>} the request, to be repeated under load
 * @throws if the response is not the expected one
 */
export async function sendAndCheck(peer, { name, path, key, body, status, expected }) {
  const request = {
    url: `http://127.0.0.1:${peer.port}${path}`,
    headers: {
      ...(key !== undefined && { Authorization: `Bearer ${key}` }),
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
    },
    status,
    ...(body !== undefined && { body }),
  };
  const send = async () => {
    const signal = AbortSignal.timeout(RESPONSE_TIMEOUT_MS);
    const method = body === undefined ? 'GET' : 'POST';
    const sent = body === undefined ? {} : { body: numbered(body) };
    const response = await fetch(request.url, { ...request, ...sent, method, signal });
    return { status: response.status, text: await response.text(), sent: sent.body };
  };
  // The first request of a window is accepted and consumes the limit of 1.
  if (status === 429) await send();
  const actual = await send();
  if (actual.status !== status || !isExpected(actual, expected)) {
    peer.fail(
      `sent an unexpected response to ${name}: ${actual.status} ${actual.text.slice(0, 300)}`,
    );
  }
  return request;
}

/**
 * @param {{ text: string, sent: string | undefined }} response and the body of its request
 * @param {unknown} expected the JSON; undefined: what was sent, if there was a body, and an id
 */
function isExpected({ text, sent }, expected) {
  const value = JSON.parse(text);
  if (sent === undefined) return expected === undefined || isDeepStrictEqual(value, expected);
  const { id, ...created } = value;
  return Number.isInteger(id) && isDeepStrictEqual(created, JSON.parse(sent));
}
