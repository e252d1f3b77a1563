import { readFileSync } from 'node:fs';
import { run } from './run.js';

for (const stream of [process.stdout, process.stderr]) {
  // The failed write reports the error. Without a listener, the event would end the process.
  stream.on('error', () => undefined);
}
const packageFile = new URL('../../package.json', import.meta.url);
const { version } = JSON.parse(readFileSync(packageFile, 'utf8')) as { version: string };
process.exitCode = await run(process.argv.slice(2), version);
