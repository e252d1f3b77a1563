// @ts-check
// Runs the property tests for a given time. Usage: npm run fuzz -- --help
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { parseArgs } from 'node:util';

const HELP = `Usage: npm run fuzz -- [options]

Options, with defaults in parentheses:
  --seconds N   duration of each property in seconds (300, about 20 minutes in total)
  --seed N      repeat the values of the run that printed this seed
  --path P      repeat the counterexample that a failed property printed; needs --seed and --test
  --test NAME   run only the tests whose name matches
  --help        print this help
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
