// @ts-check
import { mkdir, writeFile } from 'node:fs/promises';
import { execFileSync } from 'node:child_process';
import { cpus } from 'node:os';
import { dirname } from 'node:path';

/** @typedef {import('./comparison/comparison.mjs').Result} Result */
/** @typedef {import('./comparison/comparison.mjs').Sample} Sample */

const MIN_RELIABLE_ROUNDS = 5;

/**
 * Goals for the ratio of two medians of a run: a figure of a peer, divided by the same figure of
 * another peer, and of another scenario if there is one. It is at most the limit.
 *
 * @type {[figure: keyof Sample, scenario: string, peer: string, otherPeer: string, limit: number, otherScenario?: string][]}
 */
const GOALS = [
  ['nodeUs', 'list-20', 'service', 'earlier', 1],
  ['nodeUs', 'create', 'service', 'earlier', 1],
  ['nodeUs', 'no-key', 'service', 'earlier', 1],
  ['nodeUs', 'list-20', 'service', 'fastify-duties', 1],
  ['nodeUs', 'create', 'service', 'fastify-duties', 0.85],
  ['nodeUs', 'no-key', 'service', 'fastify-duties', 1],
  ['nodeUs', 'list-20', 'service', 'node-http', 1.25],
  ['nodeUs', 'list-20', 'service', 'nest-express', 0.22],
  ['nodeUs', 'last-page', 'service', 'service', 1.1, 'list-20'],
  ['nodeUs', 'no-key', 'service', 'fastify', 2],
  ['nodeUs', 'over-limit', 'service', 'fastify', 2],
  ['residentBytes', 'list-20', 'service', 'earlier', 1],
];

/**
 * Prints the results, and writes them to a file.
 *
 * @param {Result[]} results
 * @param {import('./options.mjs').Options} options
 */
export async function report(results, options) {
  for (const scenario of new Set(results.map((result) => result.scenario))) {
    console.log(`\n${scenario}: medians, CPU time in µs per request`);
    const rows = results.filter((result) => result.scenario === scenario);
    console.table(Object.fromEntries(rows.map(({ peer, samples }) => [peer, medians(samples)])));
  }
  /** @param {string} scenario @param {string} peer */
  const find = (scenario, peer) =>
    results.find((row) => row.scenario === scenario && row.peer === peer)?.samples;
  const goals = GOALS.flatMap(([figure, scenario, peer, otherPeer, limit, otherScenario]) => {
    const samples = find(scenario, peer);
    const others = find(otherScenario ?? scenario, otherPeer);
    if (!samples || !others) return [];
    const ratio = spread(samples, figure).median / spread(others, figure).median;
    const title = `${figure} of ${scenario}, ${peer} / ${otherScenario ?? otherPeer}`;
    return [
      { title, ratio: rounded(ratio), goal: limit, result: ratio <= limit ? 'met' : 'MISSED' },
    ];
  });
  if (goals.length > 0) console.table(goals);
  if (results.length > 0 && options.rounds < MIN_RELIABLE_ROUNDS) {
    console.log(`With fewer than ${MIN_RELIABLE_ROUNDS} rounds, these figures are not reliable.`);
  }
  const node = execFileSync(options.node, ['--version'], { encoding: 'utf8' }).trim();
  const machine = { processor: cpus()[0]?.model, cores: cpus().length, node };
  const json = { at: new Date(), machine, options, results, goals };
  await mkdir(dirname(options.output), { recursive: true });
  await writeFile(options.output, `${JSON.stringify(json, null, 2)}\n`);
  console.log(`Written to ${options.output}.`);
}

/** @param {Sample[]} samples */
function medians(samples) {
  const node = spread(samples, 'nodeUs');
  return {
    'requests/s': rounded(spread(samples, 'perSecond').median),
    'p50 ms': rounded(spread(samples, 'p50Ms').median),
    'p99 ms': rounded(spread(samples, 'p99Ms').median),
    'Node.js': rounded(node.median),
    user: rounded(spread(samples, 'userUs').median),
    system: rounded(spread(samples, 'systemUs').median),
    'from–to': `${rounded(node.min)}–${rounded(node.max)}`,
    PostgreSQL: rounded(spread(samples, 'postgresUs').median),
    Redis: rounded(spread(samples, 'redisUs').median),
    MB: rounded(spread(samples, 'residentBytes').median / 1e6),
  };
}

/** @param {Sample[]} samples @param {keyof Sample} figure */
function spread(samples, figure) {
  const sorted = samples.map((sample) => sample[figure]).sort((a, b) => a - b);
  const at = (/** @type {number} */ index) => sorted[index] ?? NaN;
  const middle = (sorted.length - 1) / 2;
  const median = (at(Math.floor(middle)) + at(Math.ceil(middle))) / 2;
  return { median, min: at(0), max: at(sorted.length - 1) };
}

/** @param {number} value */
export const rounded = (value) => Number(value.toFixed(Math.abs(value) < 10 ? 2 : 0));
