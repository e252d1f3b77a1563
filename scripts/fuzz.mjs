// @ts-check
// Runs the property tests for a given time. Usage: npm run fuzz -- --help
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { parseArgs } from 'node:util';

const HELP = `npm run fuzz -- [--seconds N] [--seed N] [--path P] [--test NAME]

  --seconds N   how long each property runs; 300 by default, which takes about an hour in total
  --seed N      repeats the values of a run that has printed this seed
  --path P      repeats the counterexample that a failed property has printed with this path; needs --seed and --test
  --test NAME   runs only the tests whose name matches
`;

const { values } = parseArgs({
  options: {
    seconds: { type: 'string' },
    seed: { type: 'string' },
    path: { type: 'string' },
    test: { type: 'string' },
    help: { type: 'boolean' },
  },
});

if (values.help) {
  process.stdout.write(HELP);
} else {
  const { seconds = '300', seed, path, test } = values;
  const jest = createRequire(import.meta.url).resolve('jest/bin/jest');
  const names = test === undefined ? [] : ['--testNamePattern', test];
  const child = spawn(process.execPath, [jest, '--runInBand', 'test/fuzz', ...names], {
    stdio: 'inherit',
    env: {
      ...process.env,
      FUZZ_SECONDS: seconds,
      ...(seed !== undefined && { FUZZ_SEED: seed }),
      ...(path !== undefined && { FUZZ_PATH: path }),
    },
  });
  child.on('exit', (code) => process.exit(code ?? 1));
}
