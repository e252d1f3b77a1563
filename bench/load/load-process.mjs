// @ts-check
// Sends load from a process of its own. load-generator.mjs starts it and sends it one load at a time.
import { setTimeout as delay } from 'node:timers/promises';
import { LoadConnection } from './load-connection.mjs';

/** @typedef {import('./load-generator.mjs').Load} Load */
/** @typedef {import('./load-generator.mjs').LoadResult} LoadResult */

/** @param {Load} load @returns {Promise<LoadResult>} */
async function run({ kind, port, request, status, connections, seconds }) {
  /** @type {Record<number, number>} */
  const statuses = {};
  /** @type {number[]} */
  const latenciesMs = [];
  let isOver = false;
  const open = () => {
    const connection = new LoadConnection(
      port,
      request,
      () => !isOver && connection.send(),
      (actual, latencyMs) => {
        if (isOver) return;
        statuses[actual] = (statuses[actual] ?? 0) + 1;
        const isArrival = kind === 'arrivals';
        if (actual === status) {
          latenciesMs.push(isArrival ? performance.now() - connection.startedAtMs : latencyMs);
        }
        if (isArrival) connection.close();
        else if (connection.isOpen) connection.send();
        else clients.push(open());
      },
    );
    return connection;
  };
  const openAll = () => Array.from({ length: connections }, open);

  const startedAtMs = performance.now();
  const clients = openAll();
  if (kind === 'arrivals') {
    for (let second = 1; second < seconds; second++) {
      await delay(startedAtMs + second * 1_000 - performance.now());
      clients.push(...openAll());
    }
  }
  await delay(startedAtMs + seconds * 1_000 - performance.now());
  isOver = true;
  const result = { seconds: (performance.now() - startedAtMs) / 1_000, statuses };
  for (const client of clients) client.close();
  return { ...result, latenciesMs: Float64Array.from(latenciesMs).sort() };
}

process.on('message', (load) => {
  void run(/** @type {Load} */ (load)).then((result) => process.send?.(result));
});
// Exits with the process that started it.
process.once('disconnect', () => process.exit());
