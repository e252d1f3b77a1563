// @ts-check
import { mkdir, writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { dirname } from 'node:path';
import { Command } from 'commander';
import { wholeNumber } from '../bench/options.mjs';
import { runUntilStopped } from '../bench/processes/child-processes.mjs';
import { rounded } from '../bench/report.mjs';

const MAX_LINES = 10;

/**
 * @typedef {object} Outcome of one run
 * @property {Record<string, number>} figures a larger value is worse
 * @property {string[]} broken promises that did not hold
 */

/**
 * Reads the command line, runs a rehearsal several times, and prints the median and the worst of each
 * figure. All figures are written to a file. The process exits with 1 if a promise is broken.
 *
 * @param {string} name of the npm script, after `rehearse:`
 * @param {string} description for --help
 * @param {(signal: AbortSignal) => Promise<Outcome>} run stops its processes when the signal aborts
 */
export async function rehearse(name, description, run) {
  const { runs, output } = new Command(`npm run rehearse:${name} --`)
    .description(description)
    .option('--runs <N>', 'number of runs', wholeNumber, 5)
    .option('--output <FILE>', 'file for all figures, as JSON', `reports/${name}.json`)
    .parse()
    .opts();
  await runUntilStopped(async (signal) => {
    /** @type {Outcome[]} */
    const outcomes = [];
    for (let number = 1; number <= runs; number++) {
      const outcome = await run(signal);
      outcomes.push(outcome);
      console.log(`run ${number}:`, outcome.figures);
      for (const line of outcome.broken.slice(0, MAX_LINES)) console.error(`BROKEN  ${line}`);
    }
    const table = summary(outcomes);
    console.table(table);
    const machine = { processor: cpus()[0]?.model, cores: cpus().length, node: process.version };
    await mkdir(dirname(output), { recursive: true });
    const json = { at: new Date(), machine, summary: table, outcomes };
    await writeFile(output, `${JSON.stringify(json, null, 2)}\n`);
    console.log(`Written to ${output}.`);
    if (outcomes.some(({ broken }) => broken.length > 0)) process.exitCode = 1;
    else console.log('Every promise held.');
  });
}

/** @param {Outcome[]} outcomes */
function summary(outcomes) {
  const names = new Set(outcomes.flatMap(({ figures }) => Object.keys(figures)));
  const rows = [...names].map((name) => {
    // A count that a run does not have is 0.
    const values = outcomes.map(({ figures }) => figures[name] ?? 0).sort((a, b) => a - b);
    const middle = (values.length - 1) / 2;
    const [low = NaN, high = NaN] = [values[Math.floor(middle)], values[Math.ceil(middle)]];
    return [name, { median: rounded((low + high) / 2), worst: rounded(values.at(-1) ?? NaN) }];
  });
  return Object.fromEntries(rows);
}
