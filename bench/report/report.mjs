// @ts-check
import { mkdir, writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { plot } from './plot.mjs';
import { judgeCounters, judgeOverload, judgeRatios, judgeStarts, spread } from './summary.mjs';
import { figuresText, overloadText, startsText, verdictsText } from './tables.mjs';

const TRUSTED_ROUNDS = 5;

/**
 * What a run has measured; undefined: not asked for.
 *
 * @typedef {object} Measured
 * @property {import('./summary.mjs').Row[]} rows
 * @property {{ coldMs: number[], warmMs: number[], databaseUrlMs: number[] } | undefined} starts
 * @property {{ idleOwnersBytes: number, bytesPerCounter: number } | undefined} counters
 * @property {import('../measurements/overload.mjs').Overload | undefined} overload
 */

/**
 * Prints what was measured, and writes it to bench.json and bench.svg.
 *
 * @param {Measured} measured
 * @param {import('../options.mjs').Options} options
 * @param {string} postgres its version
 */
export async function report({ rows, starts, counters, overload }, options, postgres) {
  const verdicts = [
    ...judgeRatios(rows),
    ...(starts ? judgeStarts(starts) : []),
    ...(counters ? judgeCounters(counters) : []),
    ...(overload ? judgeOverload(overload) : []),
  ];
  const texts = [
    ...(rows.length > 0 ? [figuresText(rows)] : []),
    ...(starts ? [startsText(starts, spread)] : []),
    ...(overload ? [overloadText(overload)] : []),
    ...(verdicts.length > 0 ? [verdictsText(verdicts)] : []),
  ];
  if (rows.length > 0 && options.rounds < TRUSTED_ROUNDS)
    texts.push(`Fewer than ${TRUSTED_ROUNDS} rounds: a trial.`);
  console.log(`\n${texts.join('\n\n')}\n`);

  const { output, ...asked } = options;
  const machine = {
    processor: cpus()[0]?.model,
    cores: cpus().length,
    platform: `${process.platform} ${process.arch}`,
    node: process.version,
    postgres,
  };
  const json = {
    at: new Date(),
    machine,
    options: asked,
    rows,
    starts,
    counters,
    overload,
    verdicts,
  };
  await mkdir(output, { recursive: true });
  await writeFile(join(output, 'bench.json'), `${JSON.stringify(json, null, 2)}\n`);
  if (rows.length > 0) await writeFile(join(output, 'bench.svg'), plot(rows));
  console.log(`Written to ${output}: bench.json${rows.length > 0 ? ', bench.svg' : ''}.`);
}
