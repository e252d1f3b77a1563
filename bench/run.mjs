// @ts-check
// Compares the service with other servers. Usage: npm run bench -- --help
import { comparePeers } from './comparison/comparison.mjs';
import { readOptions } from './options.mjs';
import { measureOverload } from './overload.mjs';
import { runUntilStopped } from './processes/child-processes.mjs';
import { withEnvironment } from './processes/environment.mjs';
import { report } from './report.mjs';

const options = readOptions();
await runUntilStopped((signal) =>
  withEnvironment(options, signal, async (environment) => {
    const isCompared = options.scenario.some((name) => name !== 'overload');
    const isOverload = options.scenario.includes('overload');
    const results = isCompared ? await comparePeers(environment, options, signal) : [];
    const overload = isOverload ? await measureOverload(environment, signal) : [];
    await report({ results, overload }, options);
  }),
);
