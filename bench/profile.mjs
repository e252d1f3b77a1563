// @ts-check
// Writes a flame graph of the service under load, measured by V8's sampling profiler.
// Usage: node bench/profile.mjs [SCENARIO] [FILE]
// Default: list-20 and reports/flame.svg
import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { SERVICE } from './comparison/peers.mjs';
import { listScenarios } from './comparison/scenarios.mjs';
import { LOAD_CLIENTS } from './load/load-clients.mjs';
import { sendAndCheck } from './load/response-check.mjs';
import { readOptions } from './options.mjs';
import { withEnvironment } from './processes/environment.mjs';
import { PeerProcess } from './processes/peer-process.mjs';
import { flameGraph } from './report/flame-graph.mjs';

const SECONDS = 20;
/** The flame graph omits the start, when V8 has not compiled the code yet. */
const WARM_UP_SECONDS = 10;

const [name = 'list-20', file = 'reports/flame.svg'] = process.argv.slice(2);
const { animals, client, connections } = readOptions([]);
const { signal } = new AbortController();

await withEnvironment(animals, signal, async (environment) => {
  const { folder } = environment;
  const scenarios = await listScenarios(environment.database, environment.keys);
  const scenario = scenarios.find((candidate) => candidate.name === name);
  if (!scenario) throw new Error(`Unknown scenario "${name}".`);
  const flags = ['--cpu-prof', '--cpu-prof-interval=250', `--cpu-prof-dir=${folder}`];
  const peer = await PeerProcess.start(SERVICE, environment, signal, flags);
  try {
    const request = await sendAndCheck(peer, scenario);
    await LOAD_CLIENTS[client](request, { connections, folder, signal, seconds: SECONDS });
  } finally {
    await peer.stop();
  }
  const profile = (await readdir(folder)).find((found) => found.endsWith('.cpuprofile'));
  if (!profile) throw new Error('Node.js wrote no profile.');
  const text = await readFile(join(folder, profile), 'utf8');
  const graph = flameGraph(JSON.parse(text), {
    title: scenario.title,
    skippedSeconds: WARM_UP_SECONDS,
  });
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, graph);
  console.log(`Written to ${file}.`);
});
