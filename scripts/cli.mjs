#!/usr/bin/env node
// @ts-check
// `npm run cli -- COMMAND` and, in a checkout, `npx pets COMMAND`: builds the service if necessary, and runs a command in this process.
import { ensureBuild } from './build.mjs';

ensureBuild();
process.setSourceMapsEnabled(true);
await import(new URL('../dist/cli/main.js', import.meta.url).href);
