// @ts-check
import { mkdir, writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { dirname } from 'node:path';

/** With fewer samples, the CPU and the time of a figure are not reliable. */
const MIN_RELIABLE_RUNS = 5;

/** Collects figures by the number of animals, and the promises that were broken. */
export class Report {
  /** The samples by store and figure. @type {Record<string, Record<string, number[]>>} */
  samples = {};
  /** @type {string[]} */
  broken = [];

  /** @param {string} store @param {string} figure with its unit @param {number} value */
  add(store, figure, value) {
    ((this.samples[store] ??= {})[figure] ??= []).push(value);
  }

  /** @param {boolean} isKept @param {string} promise what is broken otherwise */
  check(isKept, promise) {
    if (isKept) return;
    this.broken.push(promise);
    console.error(`BROKEN  ${promise}`);
  }

  /** @param {string} store @param {string} figure */
  median(store, figure) {
    const sorted = (this.samples[store]?.[figure] ?? []).toSorted((a, b) => a - b);
    return sorted[Math.floor(sorted.length / 2)] ?? NaN;
  }

  /**
   * Checks the median of a figure, if there are enough samples.
   *
   * @param {string} store @param {string} figure @param {number} limit
   */
  checkMedian(store, figure, limit) {
    if ((this.samples[store]?.[figure]?.length ?? 0) < MIN_RELIABLE_RUNS) return;
    const median = this.median(store, figure);
    this.check(median <= limit, `${store} animals: ${figure} is ${median}, more than ${limit}`);
  }

  /** Prints each figure as median, worst and number of samples. Writes all samples to a file. @param {string} file */
  async write(file) {
    const stores = Object.keys(this.samples);
    const figures = new Set(stores.flatMap((store) => Object.keys(this.samples[store] ?? {})));
    console.log(`| median (worst, n) | ${stores.join(' | ')} |`);
    for (const figure of figures) {
      const cells = stores.map((store) => {
        const values = this.samples[store]?.[figure];
        if (!values) return '';
        const worst = figure.endsWith('per second') ? Math.min(...values) : Math.max(...values);
        return `${short(this.median(store, figure))} (${short(worst)}, ${values.length})`;
      });
      console.log(`| ${figure} | ${cells.join(' | ')} |`);
    }
    const machine = { processor: cpus()[0]?.model, cores: cpus().length, node: process.version };
    const json = { at: new Date(), machine, samples: this.samples, broken: this.broken };
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, `${JSON.stringify(json, null, 2)}\n`);
  }
}

/** @param {number} value */
function short(value) {
  return Number(value.toPrecision(3)).toLocaleString('en');
}
