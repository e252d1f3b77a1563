// @ts-check
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** A reporter for Jest that writes the counts of a run to a file, as JSON. */
export default class TestSummary {
  /** @type {string} */
  #file;

  /**
   * @param {unknown} _globalConfig
   * @param {{ file: string }} options
   */
  constructor(_globalConfig, { file }) {
    this.#file = file;
  }

  /**
   * @param {unknown} _contexts
   * @param {import('@jest/reporters').AggregatedResult} results
   */
  onRunComplete(_contexts, results) {
    const summary = {
      passed: results.numPassedTests,
      // A test file that cannot be loaded has no tests. It counts as one failure.
      failed: results.numFailedTests + results.numRuntimeErrorTestSuites,
      skipped: results.numPendingTests + results.numTodoTests,
    };
    mkdirSync(dirname(this.#file), { recursive: true });
    writeFileSync(this.#file, `${JSON.stringify(summary)}\n`);
  }
}
