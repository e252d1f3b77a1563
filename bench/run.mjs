// @ts-check
// Compares the service with other servers. Usage: npm run bench -- --help
import { comparePeers } from './comparison/comparison.mjs';
import { readOptions } from './options.mjs';
import { runUntilStopped } from './processes/child-processes.mjs';
import { withEnvironment } from './processes/environment.mjs';
import { replay } from './replay/replay.mjs';
import { report } from './report.mjs';

const options = readOptions();
await runUntilStopped((signal) =>
  withEnvironment(options, signal, async (environment) => {
    if (options.replay) await replay(environment, options, signal);
    else await report(await comparePeers(environment, options, signal), options);
  }),
);
