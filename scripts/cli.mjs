// @ts-check
// The command runs in this very process, with the arguments of this one.
import { buildIfStaleOrExit } from './build-if-stale.mjs';

await buildIfStaleOrExit();
await import(new URL('../dist/bundle/cli.js', import.meta.url).href);
