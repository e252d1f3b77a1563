// @ts-check
// Ends the process with one line if this is not a supported version of Node.js or packages are
// missing. Loaded before any other file, and written so that the oldest Node.js can read it.
/* eslint-disable no-var, @typescript-eslint/no-require-imports, @typescript-eslint/prefer-nullish-coalescing */
'use strict';

var existsSync = require('fs').existsSync;
var project = require('../package.json');

var parts = process.versions.node.split('.');
var major = Number(parts[0]);
var minor = Number(parts[1]);

if (major < 20 || major === 21 || (major === 20 && minor < 19) || (major === 22 && minor < 12)) {
  exit(
    'Node.js ' +
      process.versions.node +
      ' is not supported. Install Node.js 24 (LTS), or at least 20.19 or 22.12.',
  );
}
var packages = Object.keys(project.dependencies);
// `npm ci --omit=dev` installs no compiler.
if (isInstalled('typescript')) packages = packages.concat(Object.keys(project.devDependencies));
if (!packages.every(isInstalled)) exit('Packages are missing. Run `npm ci`.');

/** @param {string} name */
function isInstalled(name) {
  var folders = require.resolve.paths(name) || [];
  return folders.some(function (folder) {
    return existsSync(folder + '/' + name);
  });
}

/** @param {string} message */
function exit(message) {
  process.stderr.write(message + '\n');
  process.exit(1);
}
