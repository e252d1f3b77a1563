// @ts-check
// The CPU time of a request without sockets, PostgreSQL and other processes (docs/performance.md).
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { earlierService, SERVICE } from '../comparison/peers.mjs';
import { listScenarios } from '../comparison/scenarios.mjs';
import { numbered } from '../load/load.mjs';
import { killOnExit } from '../processes/child-processes.mjs';
import { freePort } from '../processes/ports.mjs';

/** @typedef {import('../comparison/scenarios.mjs').Scenario} Scenario */
/** @typedef {import('../processes/environment.mjs').Environment} Environment */
/** @typedef {import('../options.mjs').Options} Options */

/**
 * The CPU time of one scenario in one process, in microseconds per request.
 *
 * @typedef {{ least: number, median: number }} Figures
 */

const IN_PROCESS = fileURLToPath(new URL('in-process.mjs', import.meta.url));

/**
 * Replays requests in processes of the service and of an earlier build, in turns. Prints the least figures of all
 * processes, because other work on the machine can only add to them.
 *
 * @param {Environment} environment
 * @param {Options} options
 * @param {AbortSignal} signal stops the measurement
 * @throws if a process ends without figures
 */
export async function replay(environment, options, signal) {
  const { store, earlier = store } = environment;
  const builds = [{ peer: SERVICE, store }];
  if (options.earlier !== undefined) {
    builds.push({ peer: earlierService(options.earlier), store: earlier });
  }
  /** @type {Record<string, Record<string, Figures>>} */
  const results = {};
  for (let index = 0; index < options.processes; index++) {
    for (const build of builds) {
      const figures = await replayIn(build, options, signal);
      for (const [scenario, { least, median }] of Object.entries(figures)) {
        const row = ((results[scenario] ??= {})[build.peer.name] ??= { least, median });
        row.least = Math.min(row.least, least);
        row.median = Math.min(row.median, median);
      }
    }
  }
  for (const [scenario, row] of Object.entries(results)) {
    console.log(
      `\n${scenario}: CPU time in µs per request, least of ${options.processes} processes`,
    );
    const cells = Object.entries(row).map(([peer, { least, median }]) => {
      return [peer, { 'least block': least.toFixed(1), 'median block': median.toFixed(1) }];
    });
    console.table(Object.fromEntries(cells));
  }
}

/**
 * @param {{ peer: import('../comparison/peers.mjs').Peer, store: import('../processes/store.mjs').Store }} build
 * @param {Options} options
 * @param {AbortSignal} signal
 * @returns {Promise<Record<string, Figures>>} by scenario
 */
async function replayIn({ peer, store }, { node, scenario: names, blocks }, signal) {
  const port = await freePort();
  const scenarios = (await listScenarios(store)).filter(({ name }) => names.includes(name));
  const folder = join(peer.program, '..');
  const work = {
    port,
    blocks,
    statements: join(folder, 'platform/database/pipelining/pipelined-statements.js'),
    scenarios: scenarios.map((scenario) => ({
      name: scenario.name,
      request: requestText(scenario),
      status: scenario.status,
    })),
  };
  const child = spawn(node, ['--enable-source-maps', '--import', IN_PROCESS, peer.program], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    signal,
    env: {
      PATH: process.env.PATH,
      NODE_ENV: 'production',
      PORT: String(port),
      REPLAY: JSON.stringify(work),
      ...store.env,
      ...peer.env,
    },
  });
  killOnExit(child);
  const exited = once(child, 'exit');
  const ended = exited.then(() => {
    throw new Error(`The process of ${peer.name} ended without figures.`);
  });
  ended.catch(() => undefined);
  const [figures] = await Promise.race([once(child, 'message'), ended]);
  await exited;
  return figures;
}

/** @param {Scenario} scenario */
function requestText({ path, key, body: template }) {
  const body = template && numbered(template);
  const lines = [`${body === undefined ? 'GET' : 'POST'} ${path} HTTP/1.1`, 'Host: 127.0.0.1'];
  if (key !== undefined) lines.push(`Authorization: Bearer ${key}`);
  if (body !== undefined) {
    lines.push('Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body)}`);
  }
  return [...lines, '', body].join('\r\n');
}
