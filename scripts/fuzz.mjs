// @ts-check
// Runs the property tests for a given time. Usage: npm run fuzz -- --help
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { parseArgs } from 'node:util';

const HELP = `Usage: npm run fuzz -- [options]

Options, with defaults in parentheses:
  --seconds N   duration of each property in seconds (300, about 20 minutes in total)
  --seed N      repeat the values of a failed property, which printed this seed
  --path P      repeat the counterexample that a failed property printed; needs --seed and --test
  --test NAME   run only the tests whose name matches
  --help        print this help
`;

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '300' },
    seed: { type: 'string' },
    path: { type: 'string' },
    test: { type: 'string', default: '' },
    help: { type: 'boolean' },
  },
});

if (values.help) {
  process.stdout.write(HELP);
} else {
  const jest = createRequire(import.meta.url).resolve('jest/bin/jest');
  const args = [jest, '--runInBand', 'test/fuzz', '--testNamePattern', values.test];
  const { seconds, seed, path } = values;
  const env = { ...process.env, FUZZ_SECONDS: seconds, FUZZ_SEED: seed, FUZZ_PATH: path };
  const child = spawn(process.execPath, args, { stdio: 'inherit', env });
  child.on('exit', (code) => process.exit(code ?? 1));
}
