import { randomInt } from 'node:crypto';
import fc from 'fast-check';

const { FUZZ_SEED, FUZZ_PATH, FUZZ_RUNS, FUZZ_SECONDS } = process.env;
/** Few: the tests have tables for what is known. FUZZ_RUNS sets another number. */
const RUNS = 80;
const NO_LIMIT = 2 ** 31 - 1;
/** Time for the last run and for shrinking. */
const ALLOWANCE_MS = 120_000;

const seed = FUZZ_SEED === undefined ? randomInt(2 ** 31) : Number(FUZZ_SEED);
const durationMs = FUZZ_SECONDS === undefined ? undefined : Number(FUZZ_SECONDS) * 1_000;

jest.setTimeout((durationMs ?? 0) + ALLOWANCE_MS);

/**
 * Runs the predicate on many generated values, and fails with the smallest value found for which it
 * throws. A number of runs or a duration for each property, a seed, and the path to a
 * counterexample come from the environment.
 */
export async function holds<Value>(
  values: fc.Arbitrary<Value>,
  predicate: (value: Value) => Promise<void>,
): Promise<void> {
  let run = Promise.resolve();
  const property = fc.asyncProperty(values, (value) => (run = predicate(value)));
  try {
    await fc.assert(property, {
      seed,
      numRuns: Number(FUZZ_RUNS ?? (durationMs === undefined ? RUNS : NO_LIMIT)),
      ...(FUZZ_PATH !== undefined && { path: FUZZ_PATH }),
      ...(durationMs !== undefined && { interruptAfterTimeLimit: durationMs }),
    });
  } finally {
    // fast-check does not wait for the run that it interrupts.
    await run.catch(() => undefined);
  }
  await run;
}
