// @ts-check
// The service runs in this very process: a signal to it reaches the service, and its exit code is
// the service's.
import { buildIfStaleOrExit } from './build-if-stale.mjs';

await buildIfStaleOrExit();
await import(new URL('../dist/bundle/main.js', import.meta.url).href);
