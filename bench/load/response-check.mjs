// @ts-check
import { isDeepStrictEqual } from 'node:util';

const RESPONSE_TIMEOUT_MS = 10_000;

/** @typedef {import('../comparison/scenarios.mjs').Scenario} Scenario */

/**
 * Sends one request of a scenario to a peer and checks the response.
 *
 * @param {import('../processes/peer-process.mjs').PeerProcess} peer
 * @param {Scenario} scenario
 * @returns {Promise<string>} the complete HTTP message, to be repeated under load
 * @throws if the response is not the expected one
 */
export async function sendAndCheck(peer, scenario) {
  const { path, key, body } = scenario;
  const method = body === undefined ? 'GET' : 'POST';
  const headers = {
    ...(key !== undefined && { Authorization: `Bearer ${key}` }),
    ...(body !== undefined && {
      'Content-Type': 'application/json',
      'Content-Length': String(Buffer.byteLength(body)),
    }),
  };
  const send = async () => {
    const signal = AbortSignal.timeout(RESPONSE_TIMEOUT_MS);
    const request = { method, headers, signal, ...(body !== undefined && { body }) };
    const response = await fetch(`http://127.0.0.1:${peer.port}${path}`, request);
    return { status: response.status, text: await response.text() };
  };
  // The first request of a window is accepted and consumes the limit of 1.
  if (scenario.status === 429) await send();
  check(await send(), scenario, peer.peer.name);
  const lines = Object.entries({ Host: 'bench', ...headers }).map((pair) => pair.join(': '));
  return [`${method} ${path} HTTP/1.1`, ...lines, '', body ?? ''].join('\r\n');
}

/**
 * @param {{ status: number, text: string }} response
 * @param {Scenario} scenario
 * @param {string} peer its name
 * @throws if the response is not the expected one
 */
function check({ status, text }, scenario, peer) {
  const actual = `${peer}, ${scenario.name}: the response is ${status} ${text.slice(0, 300)}`;
  if (status !== scenario.status) throw new Error(`${actual}, expected ${scenario.status}`);
  if (scenario.expected === undefined) return;
  const value = JSON.parse(text);
  const { id, ...created } = value;
  const isExpected =
    scenario.body !== undefined
      ? Number.isInteger(id) && isDeepStrictEqual(created, scenario.expected)
      : isDeepStrictEqual(value, scenario.expected);
  if (isExpected) return;
  throw new Error(`${actual}, expected ${JSON.stringify(scenario.expected).slice(0, 300)}`);
}
