// @ts-check
// Generates the load of the overload scenario in a separate process. overload.mjs starts the process
// and sends it one load at a time.
import { setTimeout as delay } from 'node:timers/promises';
import { LoadConnection } from './load-connection.mjs';

/**
 * - `closed`: each connection sends its next request as soon as it receives a response.
 * - `open`: requests are due at a fixed rate. A request is sent if a connection is free, otherwise
 *   it counts as unsent.
 * - `arrivals`: once per second, all connections open at the same time and send one request each.
 *
 * @typedef {object} Load
 * @property {'closed' | 'open' | 'arrivals'} kind
 * @property {number} port
 * @property {string} request the complete HTTP message
 * @property {number} connections
 * @property {number} seconds
 * @property {number} [perSecond] rate of an open load
 *
 * @typedef {object} LoadResult
 * @property {number} seconds actual duration
 * @property {number} sent requests that were written
 * @property {number} unsent requests that were due while no connection was free or open
 * @property {Record<string, number>} statuses number of responses by status; 0: the connection closed before the response
 * @property {Float64Array} acceptedAtMs time of each 200, since the start of the load
 * @property {Float64Array} acceptedMs latency of each 200; of arrivals, including the connection
 */

const TICK_MS = 1;
const SECOND_MS = 1_000;

/** @param {Load} load @returns {Promise<LoadResult>} */
async function run({ kind, port, request, connections, seconds, perSecond = 0 }) {
  /** @type {{ sent: number, unsent: number, statuses: Record<string, number> }} */
  const counts = { sent: 0, unsent: 0, statuses: {} };
  /** @type {number[]} */
  const acceptedAtMs = [];
  /** @type {number[]} */
  const acceptedMs = [];
  /** @type {LoadConnection[]} */
  const free = [];
  let isOver = false;
  const startedAtMs = performance.now();

  /** @param {LoadConnection} connection */
  const send = (connection) => {
    counts.sent++;
    connection.send();
  };
  /** @param {LoadConnection} connection */
  const onFree = (connection) => {
    if (isOver) return;
    if (kind === 'open') free.push(connection);
    else send(connection);
  };
  /** @type {import('./load-connection.mjs').OnResponse} */
  const onResponse = (connection, status, latencyMs) => {
    if (isOver) return;
    counts.statuses[status] = (counts.statuses[status] ?? 0) + 1;
    if (status === 200) {
      acceptedAtMs.push(performance.now() - startedAtMs);
      acceptedMs.push(kind === 'arrivals' ? performance.now() - connection.startedAtMs : latencyMs);
    }
    if (kind === 'arrivals') connection.close();
    else if (status === 0) connection.reconnect();
    else onFree(connection);
  };
  const open = () =>
    Array.from(
      { length: connections },
      () => new LoadConnection(port, Buffer.from(request), onFree, onResponse),
    );

  let clients = open();
  const endMs = startedAtMs + seconds * SECOND_MS;
  if (kind === 'arrivals') {
    for (let second = 1; second < seconds; second++) {
      await delay(startedAtMs + second * SECOND_MS - performance.now());
      clients = clients.filter(({ isOpen, isWaiting }) => isOpen || isWaiting).concat(open());
    }
  }
  if (kind === 'open') {
    for (let due = 0; performance.now() < endMs; await delay(TICK_MS)) {
      const dueNow = Math.floor(((performance.now() - startedAtMs) / SECOND_MS) * perSecond);
      for (; due < dueNow; due++) {
        const connection = free.pop();
        if (connection?.isOpen) send(connection);
        else {
          connection?.reconnect();
          counts.unsent++;
        }
      }
    }
  }
  await delay(Math.max(0, endMs - performance.now()));
  isOver = true;
  if (kind === 'arrivals') counts.unsent = seconds * connections - counts.sent;
  const tookMs = performance.now() - startedAtMs;
  for (const client of clients) client.close();
  return {
    ...counts,
    seconds: tookMs / SECOND_MS,
    acceptedAtMs: Float64Array.from(acceptedAtMs),
    acceptedMs: Float64Array.from(acceptedMs),
  };
}

process.on('message', (load) => {
  void run(/** @type {Load} */ (load)).then((result) => process.send?.(result));
});
// Exits with the process that started it.
process.once('disconnect', () => process.exit());
