// @ts-check
import { mkdir, writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { plot } from './plot.mjs';
import { evaluateCounters, evaluateOverload, evaluateRatios, evaluateStarts } from './summary.mjs';
import { figuresText, goalsText, overloadText, startsText } from './tables.mjs';

const MIN_RELIABLE_ROUNDS = 5;

/**
 * The results of a run; undefined if the run did not include the scenario.
 *
 * @typedef {object} Results
 * @property {import('./summary.mjs').Row[]} rows
 * @property {{ coldMs: number[], warmMs: number[], databaseUrlMs: number[] } | undefined} starts
 * @property {{ idleOwnersBytes: number, bytesPerCounter: number } | undefined} counters
 * @property {import('../measurements/overload.mjs').Overload | undefined} overload
 */

/**
 * Prints the results, and writes them to bench.json and bench.svg.
 *
 * @param {Results} results
 * @param {import('../options.mjs').Options} options
 * @param {string} postgresVersion
 */
export async function report(results, { output, ...options }, postgresVersion) {
  const { rows, starts, counters, overload } = results;
  const goals = [
    ...evaluateRatios(rows),
    ...(starts ? evaluateStarts(starts) : []),
    ...(counters ? evaluateCounters(counters) : []),
    ...(overload ? evaluateOverload(overload) : []),
  ];
  const texts = [
    ...(rows.length > 0 ? [figuresText(rows)] : []),
    ...(starts ? [startsText(starts)] : []),
    ...(overload ? [overloadText(overload)] : []),
    ...(goals.length > 0 ? [goalsText(goals)] : []),
  ];
  if (rows.length > 0 && options.rounds < MIN_RELIABLE_ROUNDS) {
    texts.push(`With fewer than ${MIN_RELIABLE_ROUNDS} rounds, these figures are not reliable.`);
  }
  console.log(`\n${texts.join('\n\n')}\n`);

  const machine = {
    processor: cpus()[0]?.model,
    cores: cpus().length,
    platform: `${process.platform} ${process.arch}`,
    node: process.version,
    postgres: postgresVersion,
  };
  const json = { at: new Date(), machine, options, ...results, goals };
  await mkdir(output, { recursive: true });
  await writeFile(join(output, 'bench.json'), `${JSON.stringify(json, null, 2)}\n`);
  if (rows.length > 0) await writeFile(join(output, 'bench.svg'), plot(rows));
  console.log(`Written to ${output}: bench.json${rows.length > 0 ? ', bench.svg' : ''}.`);
}
