// @ts-check
// Where the service's time goes: a flame graph (SVG) of one scenario, taken by V8's sampling
// profiler under load.
//   node bench/profile.mjs [SCENARIO] [FILE]     list-20, reports/flame.svg
import { readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sendAndCompare } from './load/response-check.mjs';
import { CLIENTS } from './load/load-clients.mjs';
import { flameGraph } from './report/flame-graph.mjs';
import { readOptions } from './options.mjs';
import { PeerProcess } from './processes/peer-process.mjs';
import { PEERS } from './comparison/peers.mjs';
import { listScenarios } from './comparison/scenarios.mjs';
import { onStage } from './processes/environment.mjs';

const ANIMALS = 100_000;
const SECONDS = 20;
/** Skips the start, and code that V8 has not compiled yet. */
const WARM_UP_SECONDS = 10;

const [name = 'list-20', file = 'reports/flame.svg'] = process.argv.slice(2);
const { signal } = new AbortController();

await onStage(ANIMALS, signal, async (stage) => {
  const scenario = (await listScenarios(stage.database, stage.keys)).find(
    (known) => known.name === name,
  );
  const service = PEERS.find((peer) => peer.name === 'service');
  if (!scenario || !service) throw new Error(`There is no scenario ${name}.`);
  const flags = ['--cpu-prof', '--cpu-prof-interval=250', `--cpu-prof-dir=${stage.folder}`];
  // The modules: in the bundle, frames do not show the module.
  const program = fileURLToPath(new URL('../dist/main.js', import.meta.url));
  const peer = await PeerProcess.start({ ...service, program }, stage, signal, flags);
  try {
    const question = await sendAndCompare(peer, scenario);
    const { client, connections } = readOptions([]);
    const { folder } = stage;
    await CLIENTS[client](question, { connections, folder, signal, seconds: SECONDS });
  } finally {
    await peer.stop();
  }
  const profile = (await readdir(stage.folder)).find((found) => found.endsWith('.cpuprofile'));
  if (!profile) throw new Error('No profile was written.');
  const text = await readFile(join(stage.folder, profile), 'utf8');
  await writeFile(file, flameGraph(JSON.parse(text), { title: scenario.title, WARM_UP_SECONDS }));
  console.log(`Written to ${file}.`);
});
