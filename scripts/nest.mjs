#!/usr/bin/env node
// @ts-check
// `npx nest` runs the Nest CLI and formats the files that it writes. npm downloads the CLI at its first use. As a
// package of the project, it would make `npm ci` warn on Node.js 20: its code generators declare 22.22.3,
// although they run on 20, and it would bring 60 packages along.
import { spawnSync } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const NEST_CLI = '@nestjs/cli@12.0.8';

/** @param {...string} args @returns {number} the exit code */
function npmExec(...args) {
  const options = ['exec', '--yes', '--loglevel=error', ...args];
  const isWindows = process.platform === 'win32';
  return spawnSync('npm', options, { stdio: 'inherit', shell: isWindows }).status ?? 1;
}

// The folder of nest-cli.json.
process.chdir(fileURLToPath(new URL('..', import.meta.url)));
const startMs = Date.now();
process.exitCode = npmExec(`--package=${NEST_CLI}`, '--', 'nest', ...process.argv.slice(2));
const written = readdirSync('src', { recursive: true, encoding: 'utf8' })
  .map((name) => join('src', name))
  .filter((path) => path.endsWith('.ts') && statSync(path).mtimeMs >= startMs);
if (written.length > 0) npmExec('--', 'prettier', '--write', '--log-level=warn', ...written);
